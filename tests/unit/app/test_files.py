"""Files over real sockets: from a channel, through its own credential, to a Graph that keeps them, and back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_network

import pytest

from procession.app.files import ChannelFiles
from procession.app.plan import Plan, PlannedChannel, PlannedEndpoint
from procession.app.wiring import World
from procession.core.errors import BadRequest, FileFailed
from procession.core.ids import ChannelName, EndpointName, TenantId
from procession.core.limits import FILE_BYTES_MAX
from procession.ports.directory import Tenant
from procession.ports.files import Errand, File
from procession.ports.vault import SecretName
from procession.runtime.wire import AddressPolicy, Wire
from procession.testing.whatsapp.server import GraphServer
from tests.unit.app.scene import FIELDS, SECRET, scene
from tests.unit.testing.whatsapp.scene import ACME, BOLT
from tests.unit.testing.whatsapp.scene import Scene as Simulated

META, SHOP = EndpointName("meta"), EndpointName("shop")
PICTURE = File(content=bytes(range(256)) * 300, mime_type="image/jpeg", name="menü.jpg")
OPEN = AddressPolicy(allow_private=(ip_network("127.0.0.0/8"),), ports=range(1, 65536))


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    world: World
    graph: Simulated
    files: ChannelFiles


@asynccontextmanager
async def act(policy: AddressPolicy = OPEN, **tokens: str) -> AsyncIterator[Act]:
    """Two tenants with a number each at one Graph; `tokens` says who has another one than Graph knows."""
    simulated = Simulated()
    server, wire = GraphServer(simulated.graph, simulated.time), Wire(policy)
    await server.start()
    try:
        world, desk = await scene()
        channels = tuple(
            PlannedChannel(
                tenant=TenantId(number.tenant),
                name=ChannelName("main"),
                endpoint=META,
                connector="whatsapp",
                account=number.id,
                secrets={"token": tokens.get(number.tenant, number.token).encode()},
                settings={"api_url": server.url},
            )
            for number in (ACME, BOLT)
        )
        plain = PlannedChannel(
            tenant=TenantId("acme"), name=ChannelName("shop"), endpoint=SHOP, connector="plain", settings=FIELDS
        )
        await desk.apply(
            Plan(
                tenants=tuple(Tenant(id=TenantId(number.tenant)) for number in (ACME, BOLT)),
                endpoints=(
                    PlannedEndpoint(name=META, connector="whatsapp", signing=(SECRET,)),
                    PlannedEndpoint(name=SHOP, connector="plain", signing=(SECRET,)),
                ),
                channels=(*channels, plain),
            ),
            actor="anna",
        )
        files = ChannelFiles(world.open.directory, world.vault, world.files, wire)
        yield Act(world=world, graph=simulated, files=files)
    finally:
        await wire.close()
        await server.close()


def errand(tenant: str = "acme", channel: str = "main", *, trusted: bool = True) -> Errand:
    return Errand(
        tenant=TenantId(tenant),
        channel=ChannelName(channel),
        deadline=timedelta(seconds=20),
        may_begin=lambda: trusted,
    )


async def test_what_was_uploaded_is_what_comes_back() -> None:
    async with act() as here:
        own = await here.files.upload(errand(), PICTURE)

        assert await here.files.download(errand(), own) == PICTURE.content
        assert not here.graph.book.trespasses


async def test_what_was_sent_to_one_number_is_not_handed_out_to_another_tenants() -> None:
    async with act() as here:
        sent = here.graph.graph.shelf.keep(ACME, "audio/ogg", b"a voice")

        with pytest.raises(FileFailed, match="100"):
            await here.files.download(errand("bolt"), sent)

        assert await here.files.download(errand("acme"), sent) == b"a voice"
        assert not here.graph.book.trespasses


async def test_a_token_that_is_not_valid_is_told_and_nothing_is_handed_out() -> None:
    async with act(acme="nobody's") as here:
        sent = here.graph.graph.shelf.keep(ACME, "audio/ogg", b"a voice")

        for asked in (here.files.download(errand(), sent), here.files.upload(errand(), PICTURE)):
            with pytest.raises(FileFailed, match="190: the token is not valid"):
                await asked


async def test_a_private_address_is_not_reached_unless_it_was_opened() -> None:
    async with act(AddressPolicy()) as here:
        with pytest.raises(FileFailed, match="not sent: address_refused"):
            await here.files.upload(errand(), PICTURE)


async def test_nothing_is_begun_for_a_turn_that_is_anothers_by_now() -> None:
    async with act() as here:
        with pytest.raises(FileFailed, match="trust_lost"):
            await here.files.upload(errand(trusted=False), PICTURE)


@pytest.mark.parametrize(
    ("tenant", "channel", "words"),
    [
        ("acme", "shop", "speaks plain, which keeps no files"),
        ("acme", "none", "no channel"),
        ("bolt", "shop", "no chan"),
    ],
)
async def test_a_channel_without_files_says_so(tenant: str, channel: str, words: str) -> None:
    async with act() as here:
        with pytest.raises(BadRequest, match=words):
            await here.files.upload(errand(tenant, channel), PICTURE)


async def test_what_is_too_large_is_not_held_any_longer() -> None:
    async with act() as here:
        with pytest.raises(BadRequest, match="at most"):
            await here.files.upload(errand(), File(content=bytes(FILE_BYTES_MAX + 1), mime_type="application/pdf"))


async def test_a_credential_that_is_gone_says_only_that() -> None:
    async with act() as here:
        await here.world.vault.forget(TenantId("acme"), SecretName("channel/main/token"), "anna")

        with pytest.raises(FileFailed, match=r"secret of channel main cannot be opened: SecretMissing$"):
            await here.files.upload(errand(), PICTURE)
