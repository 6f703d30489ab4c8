"""The result of a bench, for people."""

from collections.abc import Iterator, Mapping

from procession.testing.bench.figures import Figures

_COLUMNS = ("per_second", "p50_ms", "p99_ms", "cpu_us")
_HEADS = ("a second", "p50 ms", "p99 ms", "cpu µs each")


def table(measures: Mapping[str, Figures], ratios: Mapping[str, float]) -> str:
    lines = [f"{'':<14}" + "".join(f"{head:>14}" for head in _HEADS)]
    lines += [
        f"{name:<14}" + "".join(_cell(figures.get(column)) for column in _COLUMNS) for name, figures in measures.items()
    ]
    lines += _paced(measures)
    lines += ["", *(f"{name:<26}{value:>8.2f}" for name, value in ratios.items())]
    return "\n".join(lines) + "\n"


def _paced(measures: Mapping[str, Figures]) -> Iterator[str]:
    if "paced" in measures:
        figures = measures["paced"]
        yield ""
        yield (
            f"paced: sent to the start of its handler: p50 {figures['start_p50_ms']:.2f} ms, "
            f"p99 {figures['start_p99_ms']:.2f} ms"
        )


def facts(figures: Figures) -> str:
    """Name and value a line."""
    return "".join(f"{name:<30}{value:>12,.2f}\n" for name, value in figures.items())


def _cell(value: float | None) -> str:
    if value is None:
        return f"{'':>14}"
    return f"{value:>14,.0f}" if value >= 100 else f"{value:>14.2f}"
