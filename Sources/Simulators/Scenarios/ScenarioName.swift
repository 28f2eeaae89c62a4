extension Scenario {
    /// The scenarios that there are.
    package enum Name: String, Sendable, Codable, CaseIterable {
        case none
        case streamRamp = "stream-ramp"
        case collapseAfterReject = "collapse-after-reject"
        case goAwayShutdown = "goaway-shutdown"
        case goAwayPartial = "goaway-partial"
        case drop
        case reset
        case halfOpen = "half-open"
        case slow
        case tooManyRequests = "too-many-requests"
        case unavailableBurst = "unavailable-burst"
        case tokenUpdates = "token-updates"
        case expiredWedge = "expired-wedge"
        case unrelatedKey = "unrelated-key"
        case badDeviceShare = "bad-device-share"
        case unregisteredShare = "unregistered-share"
        case flowControlStall = "flow-control-stall"
        case settingsFlap = "settings-flap"
        case bigHeaders = "big-headers"

        /// The parameters that it takes, with their values unless given.
        var defaults: [(ScenarioParameter, Double)] {
            switch self {
            case .none: []
            case .streamRamp: [(.streamLimit, 1000), (.every, 20), (.factor, 4), (.connections, 0)]
            case .collapseAfterReject: [(.share, 0.02), (.connections, 0)]
            case .goAwayShutdown:
                Self.moment + [(.refusals, 1), (.errorCode, 0), (.lingerMilliseconds, 1000)]
            case .goAwayPartial:
                Self.moment + [(.held, 50), (.waitMilliseconds, 200), (.errorCode, 0), (.lingerMilliseconds, 1000)]
            case .drop: Self.moment + [(.abrupt, 0)]
            case .reset: [(.share, 0.02), (.errorCode, 2), (.connections, 0)]
            case .halfOpen: Self.moment
            case .slow:
                [
                    (.medianMilliseconds, 50), (.p99Milliseconds, 500), (.longestMilliseconds, 10_000),
                    (.connections, 0),
                ]
            case .tooManyRequests: [(.share, 0.1), (.retryAfterSeconds, 0), (.connections, 0)]
            case .unavailableBurst:
                [
                    (.everyMilliseconds, 10_000), (.durationMilliseconds, 1000), (.retryAfterSeconds, 0),
                    (.connections, 0),
                ]
            case .tokenUpdates: Self.moment + [(.length, 50), (.intervalSeconds, 1200)]
            case .expiredWedge: Self.moment + [(.status, 403)]
            case .unrelatedKey: Self.moment
            case .badDeviceShare: [(.share, 0.3), (.connections, 0)]
            case .unregisteredShare: [(.share, 0.1), (.ageSeconds, 86_400), (.connections, 0)]
            case .flowControlStall:
                [(.windowBytes, 64), (.stepBytes, 64), (.everyMilliseconds, 20), (.connections, 0)]
            case .settingsFlap: [(.streamLimit, 5), (.every, 50), (.connections, 0)]
            case .bigHeaders: [(.share, 1), (.headerBytes, 12_000), (.connections, 0)]
            }
        }

        /// What those take that befall a connection once.
        private static let moment: [(ScenarioParameter, Double)] = [
            (.share, 1), (.after, 100), (.spread, 100), (.connections, 0),
        ]

        /// What it does, for a person.
        package var explanation: String {
            switch self {
            case .none:
                "A good connection. With a weight beside others it says how many connections play nothing."
            case .streamRamp:
                """
                A connection begins with one stream and is allowed more in steps: 'factor' times as many at the first \
                answered push and after each 'every' more, up to 'streamLimit'. A sender that takes its final limit \
                for granted opens more streams than allowed and gets GOAWAY.
                """
            case .collapseAfterReject:
                """
                A push that is rejected with 4xx other than 410 lets the limit fall to one stream. Requests that were \
                already under way are refused with RST_STREAM REFUSED_STREAM; the next accepted push restores the \
                limit. A 'share' of the device tokens, always the same ones, is answered 400 BadDeviceToken so that it \
                happens.
                """
            case .goAwayShutdown:
                """
                A server is taken out of service: a few pushes are answered 503 Shutdown, then comes GOAWAY with \
                {"reason":"Shutdown"} and the last stream that arrived. What was begun is answered, what comes later \
                is ignored, and after a while the connection is closed.
                """
            case .goAwayPartial:
                """
                GOAWAY in the middle of the open streams: requests are held until 'held' of them are open (or \
                'waitMilliseconds' are over), then the older half is answered and the younger half lies beyond \
                last_stream_id, never looked at, free to be sent again elsewhere.
                """
            case .drop:
                """
                The TCP connection is gone without GOAWAY and without the close_notify of TLS, right after a push was \
                accepted and before its answer. With 'abrupt' it ends with a TCP RST.
                """
            case .reset:
                """
                A 'share' of the pushes is ended by RST_STREAM with 'errorCode' in place of an answer. With 7 \
                (REFUSED_STREAM) the push was not looked at; with any other it was accepted and only the answer is \
                missing.
                """
            case .halfOpen:
                """
                The connection stays, but the peer neither reads nor writes any more, not even for a PING: what a NAT \
                or a firewall leaves behind that forgot the connection.
                """
            case .slow:
                """
                Answers take their time: each is delayed by a time drawn from a log-normal distribution with this \
                median and this 99th percentile.
                """
            case .tooManyRequests:
                "A 'share' of the pushes is answered 429 TooManyRequests: too many to that one device token."
            case .unavailableBurst:
                """
                APNs is down now and again: for 'durationMilliseconds' in each 'everyMilliseconds', from the start, \
                every push is answered 503 ServiceUnavailable.
                """
            case .tokenUpdates:
                """
                429 TooManyProviderTokenUpdates for 'length' pushes in a row, as several senders behind one address \
                have seen it at any age of the token. The rule itself, no second new token on a connection within 20 \
                minutes, always holds; 'intervalSeconds' changes the time.
                """
            case .expiredWedge:
                """
                A connection saw its provider token expire and stays wedged: every push on it is refused with 'status' \
                until it is closed, whatever token comes.
                """
            case .unrelatedKey:
                """
                From one push on, the connection refuses everything with 403 UnrelatedKeyIdInToken, as if it had begun \
                with a key of another family. Only a new connection helps.
                """
            case .badDeviceShare:
                """
                A 'share' of the device tokens, always the same ones, is answered 400 BadDeviceToken, as when \
                production tokens go to the sandbox.
                """
            case .unregisteredShare:
                """
                A 'share' of the device tokens, always the same ones, is answered 410 Unregistered with a timestamp \
                'ageSeconds' ago.
                """
            case .flowControlStall:
                """
                Tiny windows: a body must be sent in pieces of 'windowBytes', and the windows open by 'stepBytes' only \
                every 'everyMilliseconds'.
                """
            case .settingsFlap:
                """
                The limit of streams changes after each 'every' pushes: down to something between 1 and 'streamLimit', \
                and up again.
                """
            case .bigHeaders:
                "A 'share' of the answers carries 'headerBytes' of additional headers."
            }
        }
    }

    /// All scenarios with their parameters, as text of at most `width` columns.
    ///
    /// - Parameter isOfAPNs: whether those that APNs alone plays are among them.
    package static func catalogue(width: Int = 100, isOfAPNs: Bool = true) -> String {
        Name.allCases.filter { isOfAPNs || $0.isOfAllServices }.map { name in
            var lines = [name.rawValue] + wrapped(name.explanation, width: width, indentation: 4)
            for (parameter, value) in name.defaults {
                let setting = "\(parameter.rawValue)=\(text(of: value))"
                let padding = String(repeating: " ", count: max(1, 28 - setting.count))
                lines.append("      \(setting)\(padding)\(parameter.explanation)")
            }
            return lines.joined(separator: "\n")
        }.joined(separator: "\n\n")
    }

    /// A parameter's value without needless digits.
    static func text(of value: Double) -> String {
        value == value.rounded() ? "\(Int(value))" : "\(value)"
    }

    private static func wrapped(_ text: String, width: Int, indentation: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, indentation + line.count + 1 + word.count > width {
                lines.append(line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        return (lines + [line]).map { String(repeating: " ", count: indentation) + $0 }
    }
}
