extension PageTemplate {
    static let socialText = document(
        title: "{{page.title}}",
        head: """
            <meta property="og:type" content="website">
            <meta property="og:title" content="{{page.title}}">
            <meta property="og:url" content="{{page.url}}">
            {{#page.description}}<meta property="og:description" content="{{.}}">
            <meta name="description" content="{{.}}">{{/page.description}}
            {{#page.imageURL}}<meta property="og:image" content="{{.}}">{{/page.imageURL}}
            {{#page.siteName}}<meta property="og:site_name" content="{{.}}">{{/page.siteName}}
            <meta name="twitter:card" content="{{page.card}}">
            {{#page.ios}}<meta property="al:ios:app_store_id" content="{{id}}">
            {{#url}}<meta property="al:ios:url" content="{{.}}">{{/url}}
            {{#name}}<meta property="al:ios:app_name" content="{{.}}">{{/name}}{{/page.ios}}
            {{#page.android}}<meta property="al:android:package" content="{{id}}">
            {{#url}}<meta property="al:android:url" content="{{.}}">{{/url}}
            {{#name}}<meta property="al:android:app_name" content="{{.}}">{{/name}}{{/page.android}}
            {{#page.webURL}}<meta property="al:web:url" content="{{.}}">{{/page.webURL}}
            """,
        body: """
            <main>
            <h1 dir="auto">{{page.title}}</h1>
            {{#page.description}}<p dir="auto">{{.}}</p>{{/page.description}}
            {{#page.href}}<p><a href="{{.}}">{{.}}</a></p>{{/page.href}}
            </main>
            """)

    static let ipadCheckText = document(
        title: "Opening the link",
        head: """
            <noscript><meta http-equiv="refresh" content="0;url={{page.desktopURL}}"></noscript>
            """,
        body: """
            <main id="places" data-ipad="{{page.ipadURL}}" data-desktop="{{page.desktopURL}}">
            <h1>Opening the link</h1>
            <p><a href="{{page.desktopURL}}">Continue</a> if nothing happens.</p>
            </main>
            """,
        // A Mac has no touch screen, and an iPad says that it takes five fingers.
        script: """
            const places = document.getElementById('places').dataset;
            location.replace(navigator.maxTouchPoints > 1 ? places.ipad : places.desktop);
            """)
}
