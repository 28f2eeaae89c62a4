import Testing

@testable import HTTPListener

struct ClientAddressTests {
    @Test(arguments: [
        ("1.2.3.4", "1.2.3.4"), ("1.2.3.4:5", "1.2.3.4"), ("::ffff:1.2.3.4", "1.2.3.4"),
        ("[::FFFF:102:304]:80", "1.2.3.4"), ("2001:db8:0:1:2:3:4:5", "2001:db8:0:1::/64"),
        ("2001:DB8:0:1::9", "2001:db8:0:1::/64"), ("[2001:db8:0:1::9]:443", "2001:db8:0:1::/64"),
        ("[2001:0db8::1:0:0:0:9]", "2001:db8:0:1::/64"), ("::1", "0:0:0:0::/64"), ("[::1]:5", "0:0:0:0::/64"),
        ("fe80::1%eth0", "fe80:0:0:0::/64"), ("2001:db8:1::", "2001:db8:1:0::/64"), ("Unknown", "unknown"),
        ("1:2:3", "1:2:3"), ("1::2::3", "1::2::3"), ("1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8:9"), ("", ""),
        ("::1.2.3", "::1.2.3"), ("::ffff:1.2.3.4.5", "::ffff:1.2.3.4.5"), ("::g", "::g"),
    ])
    func textsOfOneAddressAreOneClient(text: String, client: String) {
        #expect(ClientAddress(text).text == client)
    }

    @Test(
        arguments: [
            ("192.0.2.1", "192.0.2.1"), ("192.0.2.1:80", "192.0.2.1"), ("[2001:DB8::1]:443", "2001:db8::1"),
            ("fe80::1%eth0", "fe80::1"), ("1.2.3.256", nil), ("1.2.3", nil), ("1..2.3", nil), ("unknown", nil),
            ("_secret", nil), ("\"x\"", nil), ("", nil),
        ] as [(String, String?)])
    func anAddressIsKeptOnlyWhenItIsOne(text: String, address: String?) {
        #expect(ClientAddress.plain(text) == address)
    }
}
