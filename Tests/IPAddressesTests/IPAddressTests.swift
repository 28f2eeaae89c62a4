import IPAddresses
import Testing

/// Texts of addresses are read in one way only, and ranges hold what the registries say.
@Suite(.timeLimit(.minutes(1)))
struct IPAddressTests {
    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "0.0.0.0"), ("255.255.255.255", "255.255.255.255"),
        ("::", "0:0:0:0:0:0:0:0"), ("::1", "0:0:0:0:0:0:0:1"), ("2001:DB8::a", "2001:db8:0:0:0:0:0:a"),
        ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"), ("1::8", "1:0:0:0:0:0:0:8"), ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
        ("::ffff:10.0.0.1", "0:0:0:0:0:ffff:a00:1"), ("64:ff9b::8.8.8.8", "64:ff9b:0:0:0:0:808:808"),
    ])
    func theUsualTextsAreRead(text: String, description: String) {
        #expect(IPAddress(text)?.description == description)
        #expect(IPAddress(description) == IPAddress(text))
    }

    @Test(arguments: [
        "", "1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.256", "1.2.3.4 ", "0x7f.0.0.1", "2130706433", "127.1",
        "a.b.c.d",
        ":", ":::", "1:2", "1:2:3:4:5:6:7:8:9", "1::2::3", "12345::", "fe80::1%eth0", "::1.2.3", "1:2:3:4:5:6:7::8",
        "[::1]", "::g", "1.2.3.4::", "+1.2.3.4", "1..2.3",
    ])
    func otherTextsAreNone(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test(arguments: [
        ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false),
        ("172.16.0.0/12", "172.31.255.255", true),
        ("172.16.0.0/12", "172.32.0.0", false), ("0.0.0.0/0", "8.8.8.8", true), ("0.0.0.0/0", "::1", false),
        ("192.0.2.7", "192.0.2.7", true), ("192.0.2.7", "192.0.2.6", false), ("fd00::/8", "fdff::1", true),
        ("fd00::/8", "fe00::1", false), ("2001:db8::/31", "2001:db9::", true),
    ])
    func aNetworkHasTheAddressesWithItsBits(network: String, address: String, isIn: Bool) throws {
        #expect(try #require(IPNetwork(network)).contains(#require(IPAddress(address))) == isIn)
    }

    @Test(arguments: ["10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/+8", "x/8", "::/129", "", "/8"])
    func otherNetworksAreNone(text: String) {
        #expect(IPNetwork(text) == nil)
    }

    @Test func mappedAddressesAreTheirIPv4Address() throws {
        #expect(IPAddress("::ffff:192.168.0.1")?.unmapped == IPAddress("192.168.0.1"))
        let other = try #require(IPAddress("2606:4700::1111"))
        #expect(other.unmapped == other && other.isOfInternet)
        #expect(IPAddress("::ffff:8.8.8.8")?.isOfInternet == false)
    }
}
