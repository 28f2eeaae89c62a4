import Testing

@testable import Links

struct LinkParametersTests {
    @Test("the canonical order is that of the names' bytes")
    func ranks() {
        let names = LinkParameter.allCases.sorted { $0.rank < $1.rank }.map(\.rawValue)
        #expect(names == names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        #expect(Set(LinkParameter.allCases.map(\.rank)).count == LinkParameter.allCases.count)
    }

    @Test("each parameter is read by its name", arguments: LinkParameter.allCases)
    func everyName(parameter: LinkParameter) {
        #expect(LinkParameters(query: "x=1&\(parameter.rawValue)=v&y=2")[parameter] == "v")
    }

    @Test("a name parts from its value at the first equals sign, and plus stays plus")
    func halfEncoded() {
        let parameters = LinkParameters(query: "link=https://a.example/x?a=b=c&st=one+two%20three&sd=100%&si=%zz")
        #expect(parameters[.link] == "https://a.example/x?a=b=c")
        #expect(parameters[.socialTitle] == "one+two three")
        #expect(parameters[.socialDescription] == "100%")
        #expect(parameters[.socialImage] == "%zz")
    }

    @Test("values are decoded once")
    func decodedOnce() {
        #expect(LinkParameters(query: "link=https%3A%2F%2Fa.example%2F%2541")[.link] == "https://a.example/%41")
    }

    @Test("names may be encoded as iOS' builder does, and bytes that are no UTF-8 are replaced")
    func encodedNames() {
        let parameters = LinkParameters(query: "utm%5Fsource=mail&st=%ff&l%69nk=x")
        #expect(parameters[.utmSource] == "mail")
        #expect(parameters[.socialTitle] == "\u{fffd}")
        #expect(parameters[.link] == "x")
    }

    @Test("of two values the first counts, empty ones are none")
    func duplicates() {
        let parameters = LinkParameters(query: "apn=&apn=one&apn=two&link&=x&&ibi=")
        #expect(parameters[.androidPackage] == "one")
        #expect(parameters[.link] == nil)
        #expect(parameters[.iosBundle] == nil)
    }

    @Test("order, spelling and internal parameters make no other digest, values do")
    func digest() {
        let one = LinkParameters(query: "link=https%3A%2F%2Fa%2Eexample%2Fx&apn=com.example.app&st=%41")
        let other = LinkParameters(
            query: "st=A&d=1&cid=9&_osl=x&_icp=1&_cpt=cpit&zzz=1&apn=com.example.app&link=https://a.example/x")
        #expect(one == other)
        #expect(one.digest() == other.digest())
        #expect(one.digest().count == 16)
        #expect(one.digest() != LinkParameters(query: "link=https://a.example/y&apn=com.example.app&st=A").digest())
        #expect(LinkParameters(query: "st=a%26sd%3Db").digest() != LinkParameters(query: "st=a&sd=b").digest())
    }

    @Test("the canonical query is sorted, encodes all but unreserved characters and reads back the same")
    func canonical() {
        let parameters = LinkParameters(
            query: "st=a b&link=https://a.example/?x=1%26y=2&apn=com.example-app_1~&sd=é+;#")
        #expect(
            parameters.query
                == "apn=com.example-app_1~&link=https%3A%2F%2Fa.example%2F%3Fx%3D1%26y%3D2&sd=%C3%A9%2B%3B%23&st=a%20b")
        #expect(LinkParameters(query: parameters.query) == parameters)
    }

    @Test("setting a parameter replaces it and keeps the order, nil and an empty text remove it")
    func setting() {
        var parameters = LinkParameters(query: "link=x&st=y")
        parameters[.androidPackage] = "p"
        parameters[.link] = "z"
        parameters[.utmTerm] = "t"
        parameters[.socialTitle] = ""
        #expect(parameters.query == "apn=p&link=z&utm_term=t")
        parameters[.androidPackage] = nil
        #expect(parameters.all.map(\.parameter) == [.link, .utmTerm])
    }

    @Test("efr is on for 1 and true")
    func forcedRedirect() {
        #expect(LinkParameters(query: "efr=1").isForcedRedirect)
        #expect(LinkParameters(query: "efr=True").isForcedRedirect)
        #expect(!LinkParameters(query: "efr=0").isForcedRedirect)
        #expect(!LinkParameters(query: "efr=yes").isForcedRedirect)
        #expect(!LinkParameters().isForcedRedirect)
    }
}
