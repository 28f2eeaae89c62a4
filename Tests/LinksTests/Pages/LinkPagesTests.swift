import Mustache
import Testing

@testable import Links

struct LinkPagesTests {
    private let pages: LinkPages

    init() throws {
        pages = try LinkPages()
    }

    @Test("every template parses, and none leaves a value unescaped", arguments: PageTemplate.allCases)
    func templates(template: PageTemplate) throws {
        HTMLText.register()
        _ = try MustacheTemplate(string: template.text)
        #expect(template.text.hasPrefix("{{% CONTENT_TYPE: HERALD }}"))
        #expect(!template.text.contains("{{{") && !template.text.contains("{{&"))
        // Attributes are quoted, or the escaping would not hold in them.
        #expect(template.text.firstMatch(of: /\s[a-z:-]+=\{\{/) == nil)
    }

    @Test("every value of every page is shown")
    func values() {
        var given: [String] = []
        let all = SamplePages.all(pages) {
            given.append("v\(given.count)-\($0)")
            return given[given.count - 1]
        }
        for value in given {
            #expect(all.contains { $0.page.html.contains(value) }, "\(value)")
        }
    }

    @Test(
        "no value changes the markup",
        arguments: [
            "<script>alert(1)</script>", "</title><script>alert(1)</script>", #""><img src=x onerror=alert(1)>"#,
            "' onclick='alert(1)", "{{nonce}}", "{{{page}}}", "<!--", "&lt;script&gt;",
            // One character to people, a tag or the end of an attribute to browsers.
            "\u{600}<script>alert(1)</script>", "\"\u{301} onload=alert(1)", "'\u{301} onload=alert(1)", "<\u{200d}",
        ])
    func escaping(text: String) {
        let harmless = SamplePages.all(pages) { _ in "x" }
        for (hostile, harmless) in zip(SamplePages.all(pages) { _ in text }, harmless) {
            let characters: [Unicode.Scalar] = ["<", ">", "\"", "'"]
            for character in characters {
                let counts = [hostile, harmless].map { sample in
                    sample.page.html.unicodeScalars.count { $0 == character }
                }
                #expect(counts[0] == counts[1], "\(character) on \(hostile.name)")
            }
            #expect(hostile.page.html.utf8.count > harmless.page.html.utf8.count, "\(hostile.name)")
        }
    }

    @Test("control characters don't reach a document, line breaks do")
    func controls() {
        let html = pages.badLink("a\u{0}b\u{1b}c\nd\u{85}").html
        #expect(html.contains("a\u{fffd}b\u{fffd}c\nd\u{fffd}"))
    }

    @Test("each page has a nonce of its own, which its policy allows")
    func nonces() throws {
        var seen: Set<Substring> = []
        for sample in SamplePages.all(pages, value: { _ in "x" }) + SamplePages.all(pages, value: { _ in "x" }) {
            let nonces = Set(sample.page.html.matches(of: /nonce="([0-9a-f]{32})"/).map(\.output.1))
            let allowed = Set(sample.page.contentSecurityPolicy.matches(of: /'nonce-([^']*)'/).map(\.output.1))
            #expect(nonces.count == 1 && nonces == allowed, "\(sample.name)")
            // Styles and scripts have one and nothing else is inline.
            let inline = sample.page.html.matches(of: /<(?:style|script)[ >]/).count
            #expect(inline == sample.page.html.matches(of: /<(?:style|script) nonce="[0-9a-f]{32}">/).count)
            #expect(sample.page.html.firstMatch(of: /\s(?:style|on[a-z]+)=/) == nil)
            seen.formUnion(nonces)
        }
        #expect(seen.count == 10)
    }

    @Test("a page may do what it needs and nothing else")
    func policies() throws {
        let pages = try LinkPages(nonce: { "N" })
        let end = "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
        let page = PreviewPage(host: "a.example", openURL: "https://a.example/", reportPath: "/r")
        #expect(
            pages.preview(page).contentSecurityPolicy
                == "default-src 'none'; img-src https:; style-src 'nonce-N'; script-src 'nonce-N'; connect-src 'self'; "
                + end)
        #expect(
            pages.preview(PreviewPage(host: "a.example", openURL: "https://a.example/")).contentSecurityPolicy
                == "default-src 'none'; img-src https:; style-src 'nonce-N'; script-src 'nonce-N'; " + end)
        #expect(
            pages.notFound().contentSecurityPolicy
                == "default-src 'none'; img-src https:; style-src 'nonce-N'; " + end)
    }

    @Test(
        "a button never leads to anything but a web address",
        arguments: [
            "javascript:alert(1)", "data:text/html,x", "//a.example", "https:///x", "https://a b", "", "https://",
        ])
    func destinations(url: String) {
        #expect(pages.preview(PreviewPage(host: "a.example", openURL: url)).status == 400)
        #expect(pages.ipadCheck(IPadCheckPage(ipadURL: url, desktopURL: "https://a.example/")).status == 400)
        #expect(pages.ipadCheck(IPadCheckPage(ipadURL: "https://a.example/", desktopURL: url)).status == 400)
        #expect(!pages.social(SocialPage(url: url)).html.contains("<a "))
    }

    @Test(
        "a picture that is none of the web is left out",
        arguments: [
            "javascript:alert(1)", "data:image/png;base64,x", "JAVASCRIPT:x", "https://a.example\\b", " https://a",
        ])
    func images(url: String) {
        let preview = PreviewPage(imageURL: url, host: "a.example", openURL: "https://a.example/")
        #expect(!pages.preview(preview).html.contains("<img"))
        let social = pages.social(SocialPage(url: "https://a.example/", imageURL: url)).html
        #expect(!social.contains("og:image") && social.contains(#"content="summary">"#))
    }

    @Test("a picture that the policy would not load is left out of the preview")
    func insecureImages() {
        let image = "http://a.example/i.png"
        let preview = PreviewPage(imageURL: image, host: "a.example", openURL: "https://a.example/")
        #expect(!pages.preview(preview).html.contains(image))
        #expect(pages.social(SocialPage(url: "https://a.example/", imageURL: image)).html.contains(image))
    }

    @Test(
        "a report goes to a path of the same host only",
        arguments: ["//b.example", "https://b.example/r", "/\\b", "r", ""])
    func reports(path: String) {
        let page = pages.preview(PreviewPage(host: "a.example", openURL: "https://a.example/", reportPath: path))
        #expect(page.html.contains(#"data-report="""#) && !page.contentSecurityPolicy.contains("connect-src"))
    }

    @Test("the clipboard gets the link with the suffix that the SDK looks for")
    func clipboard() {
        #expect(PreviewPage.clipboardText("https://go.example.com/y6N7") == "https://go.example.com/y6N7?_icp=1")
        #expect(
            PreviewPage.clipboardText("https://go.example.com/?link=https%3A%2F%2Fa.example")
                == "https://go.example.com/?link=https%3A%2F%2Fa.example&_icp=1")
    }

    @Test("the heading is the title, else the app, else the host")
    func headings() {
        func heading(_ title: String?, _ app: String?) -> String {
            PreviewPage(title: title, appName: app, host: "a.example", openURL: "https://a.example/").heading
        }
        #expect([heading("T", "A"), heading(nil, "A"), heading(nil, nil)] == ["T", "A", "a.example"])
    }

    @Test("messages have the statuses of their cases, and say what to do")
    func messages() {
        let messages = [pages.notFound(), pages.gone(), pages.badLink("The link is missing."), pages.unknownHost()]
        #expect(messages.map(\.status) == [404, 410, 400, 404])
        for message in messages { #expect(message.html.firstMatch(of: /<h1>[^<]+<\/h1>[\s\S]*<p>[^<]+<\/p>/) != nil) }
        #expect(messages[2].html.contains("The link is missing."))
    }
}
