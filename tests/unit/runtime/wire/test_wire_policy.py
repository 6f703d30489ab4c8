from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procession.core.errors import Misconfigured
from procession.runtime.wire.policy import METADATA, OPENABLE, AddressPolicy, is_public

PRIVATE = [
    "10.0.0.1",
    "10.255.255.255",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.1.1",
    "198.18.0.1",
    "::1",
    "fc00::1",
    "fdff::1",
    "fe80::1",
]
NEVER = [
    "0.0.0.0",
    "0.1.2.3",
    "169.254.169.254",
    "100.100.100.200",
    "168.63.129.16",
    "fd00:ec2::254",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::ffff:169.254.169.254",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::808:808",
    "64:ff9b:1::7f00:1",
    "100::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:808:808::1",
    "3fff::1",
    "4000::1",
    "5f00::1",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
]
PUBLIC = ["8.8.8.8", "1.1.1.1", "157.240.1.1", "100.63.255.255", "100.128.0.1", "172.32.0.1", "2a03:2880::1", "2606::1"]

EVERYTHING = AddressPolicy(allow_private=OPENABLE, ports=range(1, 65_536))


@pytest.mark.parametrize("address", PRIVATE + NEVER)
def test_what_is_not_public_is_closed(address: str) -> None:
    assert not AddressPolicy().allows(ip_address(address), encrypted=True)


@pytest.mark.parametrize("address", NEVER)
def test_what_hides_or_hands_out_is_closed_even_where_all_is_opened(address: str) -> None:
    assert not EVERYTHING.allows(ip_address(address), encrypted=True)


@pytest.mark.parametrize("address", PRIVATE)
def test_an_opened_network_is_open_with_and_without_tls(address: str) -> None:
    assert EVERYTHING.allows(ip_address(address), encrypted=True)
    assert EVERYTHING.allows(ip_address(address), encrypted=False)


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_open_with_tls_only(address: str) -> None:
    for policy in (AddressPolicy(), EVERYTHING):
        assert policy.allows(ip_address(address), encrypted=True)
        assert not policy.allows(ip_address(address), encrypted=False)


@given(st.ip_addresses())
def test_nothing_counts_as_public_that_the_standard_library_takes_for_special(address: object) -> None:
    address = ip_address(str(address))

    if is_public(address):
        assert address.is_global
        assert not address.is_multicast


def test_an_opened_network_opens_nothing_beside_it() -> None:
    policy = AddressPolicy(allow_private=(ip_network("10.1.0.0/16"),))

    assert policy.allows(ip_address("10.1.2.3"), encrypted=False)
    assert not policy.allows(ip_address("10.2.2.3"), encrypted=True)
    assert not policy.allows(ip_address("::ffff:10.1.2.3"), encrypted=True)


@pytest.mark.parametrize("network", ["0.0.0.0/0", "8.0.0.0/8", "10.0.0.0/7", "::/0", "64:ff9b::/96", "224.0.0.0/8"])
def test_only_private_networks_can_be_opened(network: str) -> None:
    with pytest.raises(Misconfigured, match="allow_private"):
        AddressPolicy(allow_private=(ip_network(network),))


def test_the_addresses_of_metadata_services_are_single_ones() -> None:
    assert all(network.num_addresses == 1 for network in METADATA)


@pytest.mark.parametrize(
    ("policy", "encrypted", "port", "allowed"),
    [
        (AddressPolicy(), True, 443, True),
        (AddressPolicy(), True, 22, False),
        (AddressPolicy(), False, 443, False),
        (AddressPolicy(ports={443, 8443}), True, 8443, True),
        (EVERYTHING, False, 5678, True),
        (AddressPolicy(allow_private=OPENABLE), False, 5678, False),
    ],
)
def test_ports_and_plain_http_are_judged_before_any_lookup(
    policy: AddressPolicy, encrypted: bool, port: int, allowed: bool
) -> None:
    assert policy.allows_origin(encrypted=encrypted, port=port) is allowed
