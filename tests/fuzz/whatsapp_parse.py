"""Coverage-guided fuzzing of the WhatsApp connector's parser: `python -m tests.fuzz.whatsapp_parse --seconds 60`.

It begins with valid bodies and changes their bytes, keeping what reaches code that nothing reached before. What it
finds is printed, and kept in the folder that it names; it goes into the tests of what is unreadable, with the fix.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Final

WORDS: Final = (
    *('"object":"whatsapp_business_account"', '"entry":[', '"changes":[', '"field":"', '"value":{', '"metadata":{'),
    *(
        '"phone_number_id":"106540352242922"',
        '"messages":[',
        '"statuses":[',
        '"history":[',
        '"threads":[',
        '"errors":[',
    ),
    *('"message_echoes":[', '"smb_message_echoes"', '"procession":{', '"part":"', '"waba":', '"contact":', '"chunk":'),
    *('"wa_id":"', '"user_id":"DE.', '"group_id":"', '"biz_opaque_callback_data":"ef_', '"type":"system"', "\\u0069d"),
)
LONGEST: Final = 4_096
"""Bytes of one body: what is larger takes longer, and reaches nothing else."""


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--seconds", type=int, default=60)
    seconds = asked.parse_args().seconds
    try:
        import atheris
    except ImportError:
        sys.stdout.write("atheris is not there for this machine: nothing was fuzzed\n")
        return
    with atheris.instrument_imports(include=["procession.connectors"]):
        from tests.fuzz.meta_bodies import SEEDS, check
    folder = Path(tempfile.mkdtemp(prefix="procession-fuzz-"))
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(SEEDS):
        (corpus / str(number)).write_bytes(seed)
    words = folder / "words"
    words.write_text("".join(f"{json.dumps(word)}\n" for word in WORDS))
    bounds = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", "-timeout=10", "-print_final_stats=1"]
    bounds += [f"-dict={words}", f"-artifact_prefix={folder}/"]

    def one(raw: bytes) -> None:
        check(raw)

    atheris.Setup([sys.argv[0], *bounds, str(corpus)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
