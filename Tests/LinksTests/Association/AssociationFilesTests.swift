import JSON
import PushModel
import Testing

@testable import Links

struct AssociationFilesTests {
    private func text(_ value: JSONValue) -> String { String(decoding: value.bytes, as: UTF8.self) }

    @Test("Apple's file names the apps with an App ID prefix")
    func apple() {
        let project = SampleLinks.project(apps: [
            SampleLinks.appleApp("com.example.app", store: nil),
            SampleLinks.appleApp("com.example.none", store: nil, appIDPrefix: nil),
            SampleLinks.androidApp("com.example.app"),
        ])
        let files = AssociationFiles(host: "go.example.com", projects: [project])
        #expect(
            text(files.apple)
                == #"{"applinks":{"apps":[],"details":[{"appID":"TEAM123456.com.example.app","paths":["NOT /_/*","/*"],"#
                + #""appIDs":["TEAM123456.com.example.app"],"components":[{"/":"/_/*","exclude":true},{"/":"/*"}]}]}}"#)
    }

    @Test("Google's file names the Android apps with a fingerprint")
    func android() {
        let project = SampleLinks.project(apps: [
            SampleLinks.androidApp("com.example.b", sha256: ["AA:BB", "CC:DD"]),
            SampleLinks.androidApp("com.example.a"),
            SampleLinks.androidApp("com.example.none", sha256: []),
        ])
        let files = AssociationFiles(host: "go.example.com", projects: [project])
        func statement(_ name: String, _ prints: String) -> String {
            #"{"relation":["delegate_permission/common.handle_all_urls"],"target":{"namespace":"android_app","package_name":""#
                + name + #"","sha256_cert_fingerprints":["# + prints + "]}}"
        }
        #expect(
            text(files.android) == "["
                + statement("com.example.a", #""14:6D:E9:83""#) + "," + statement("com.example.b", #""AA:BB","CC:DD""#)
                + "]")
    }

    @Test("below a path only the prefix' paths are the app's, and a host's other tenants keep theirs")
    func paths() {
        func project(_ id: String, _ paths: [String]) -> Project {
            let prefixes = paths.map { LinkPrefix(host: "links.example.com", path: $0) }
            return SampleLinks.project(
                LinkSettings(prefixes: prefixes), id: id, apps: [SampleLinks.appleApp("com.\(id)", store: nil)])
        }
        func paths(_ projects: [Project]) -> [JSONValue?] {
            let apple = AssociationFiles(host: "links.example.com", projects: projects).apple
            guard case .array(let details)? = apple["applinks"]?["details"] else { return [] }
            return details.map { $0["paths"] }
        }
        func array(_ texts: String...) -> JSONValue { .array(texts.map(JSONValue.string)) }
        #expect(paths([project("one", ["/promo"])]) == [array("NOT /promo/_/*", "/promo/*", "/promo")])
        #expect(
            paths([project("two", ["/promo"]), project("one", [""])]) == [
                array("NOT /_/*", "NOT /promo", "NOT /promo/*", "/*"), array("NOT /promo/_/*", "/promo/*", "/promo"),
            ])
    }

    @Test("a host without links has no apps, a preview page's neither")
    func strangers() {
        for host in ["preview.example.com", "other.example"] {
            let files = AssociationFiles(host: host, projects: [SampleLinks.project()])
            #expect(text(files.apple) == #"{"applinks":{"apps":[],"details":[]}}"#)
            #expect(text(files.android) == "[]")
        }
    }
}
