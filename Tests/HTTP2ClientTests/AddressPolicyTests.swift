import Testing

@testable import HTTP2Client

/// Which addresses are dialed for peers that others name.
@Suite(.timeLimit(.minutes(5)))
struct AddressPolicyTests {
    private func addresses(_ host: String) throws -> [SocketAddress] {
        try SocketAddress.resolve(host: host, port: 443, isLiteral: true).get()
    }

    @Test(arguments: [
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1",
        "127.255.255.254", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1",
        "192.168.0.1", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.255",
        "240.0.0.1", "255.255.255.255",
        "::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::8.8.8.8",
        "100::1", "2001::1", "2001:1ff::1", "2001:db8::1", "2002:7f00:1::1", "3fff::1", "fc00::1", "fd12:3456::1",
        "fe80::1", "fec0::1", "ff02::1",
    ])
    func whatIsNotOfTheInternetIsRefused(host: String) throws {
        let addresses = try addresses(host)
        #expect(!addresses.isEmpty && addresses.allSatisfy { !AddressPolicy.publicOnly.allows($0) })
        #expect(addresses.allSatisfy { AddressPolicy.any.allows($0) })
    }

    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.1", "126.0.0.1", "128.0.0.1",
        "169.253.0.1", "172.15.255.255", "172.32.0.1", "192.1.0.1", "192.167.1.1", "198.17.0.1", "198.20.0.1",
        "223.255.255.255", "2001:200::1", "2001:4860:4860::8888", "2606:4700::1111", "2a00::1", "64:ff9b::8.8.8.8",
    ])
    func whatIsOfTheInternetIsDialed(host: String) throws {
        #expect(try addresses(host).allSatisfy { AddressPolicy.publicOnly.allows($0) })
    }

    /// The check is at the dial: a name that leads to this machine is one like any other until then.
    @Test(arguments: ["127.0.0.1", "localhost"])
    func nothingIsSentToAnAddressThatIsRefused(host: String) async throws {
        let peer = try await ScriptedPeer()
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(peer.port, trust: peer.tls)
            configuration.host = host
            configuration.addresses = .publicOnly
            configuration.circuitLimit = 1
            configuration.backOffFloor = .seconds(600)
            configuration.backOffCeiling = .seconds(600)
            configuration.queueTimeout = .seconds(600)
            let pool = try engine.openPool(configuration)
            let failure = await pool.exchange([.get]).first?.notSent
            #expect(failure?.kind == .connectFailed)
            #expect(failure?.message.contains("is not of the Internet") == true, "\(String(describing: failure))")
        }
    }
}
