import Foundation
import Traces

/// What the environment says about tracing by OpenTelemetry's names, where neither the file nor a variable of Herald's does.
struct TracingSection {
    /// The variables that are read.
    enum Variable: String, CaseIterable {
        case endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
        case tracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
        case headers = "OTEL_EXPORTER_OTLP_HEADERS"
        case serviceName = "OTEL_SERVICE_NAME"
        case sampler = "OTEL_TRACES_SAMPLER"
        case samplerArgument = "OTEL_TRACES_SAMPLER_ARG"
    }

    let environment: [String: String]

    /// Completes what the file says.
    ///
    /// - Parameter sample: the share that it gives; `nil`: none.
    func complete(
        _ tracing: inout GatewayConfiguration.Tracing, sample: Double?, problems: inout [ConfigurationProblem]
    ) {
        if tracing.url == nil { tracing.url = url(problems: &problems) }
        if let name = value(.serviceName) { tracing.serviceName = name }
        tracing.headers = headers(problems: &problems)
        if let sample {
            tracing.sampler.share = sample
        } else if let sampler = sampler(problems: &problems) {
            tracing.sampler = sampler
        }
    }

    /// The address that spans are sent to.
    static func url(endpoint: String) -> String? {
        GatewayConfiguration.publicURL(endpoint).map { $0 + "/v1/traces" }
    }

    private func url(problems: inout [ConfigurationProblem]) -> String? {
        for variable in [Variable.tracesEndpoint, .endpoint] {
            guard let text = value(variable) else { continue }
            // That of traces alone is the whole URL.
            let url = variable == .endpoint ? Self.url(endpoint: text) : GatewayConfiguration.publicURL(text)
            if url == nil {
                problems.append(
                    problem(variable, "\"\(text)\" is no URL of a collector; write it like http://127.0.0.1:4318"))
            }
            return url
        }
        return nil
    }

    private func headers(
        problems: inout [ConfigurationProblem]
    ) -> [GatewayConfiguration.Tracing.Header] {
        guard let text = value(.headers) else { return [] }
        return text.split(separator: ",").compactMap { pair in
            let sides = pair.split(separator: "=", maxSplits: 1).map {
                $0.trimmingCharacters(in: .whitespaces).removingPercentEncoding ?? ""
            }
            guard sides.count == 2, !sides[0].isEmpty, Self.isVisible(sides[0]), Self.isVisible(sides[1]) else {
                // The value may be a secret.
                problems.append(problem(.headers, "must be name=value, with a comma between several"))
                return nil
            }
            return GatewayConfiguration.Tracing.Header(name: sides[0], value: sides[1])
        }
    }

    private static func isVisible(_ text: String) -> Bool { text.utf8.allSatisfy { (0x20...0x7e).contains($0) } }

    private func sampler(problems: inout [ConfigurationProblem]) -> TraceSampler? {
        guard let text = value(.sampler) else { return nil }
        let prefix = "parentbased_"
        let followsParent = text.hasPrefix(prefix)
        switch followsParent ? String(text.dropFirst(prefix.count)) : text {
        case "always_on": return TraceSampler(share: 1, followsParent: followsParent)
        case "always_off": return TraceSampler(share: 0, followsParent: followsParent)
        case "traceidratio":
            guard let argument = value(.samplerArgument) else {
                return TraceSampler(share: 1, followsParent: followsParent)
            }
            guard let share = Double(argument), (0...1).contains(share) else {
                problems.append(
                    problem(.samplerArgument, "\"\(argument)\" is no share; use a number from 0 to 1, such as 0.01"))
                return nil
            }
            return TraceSampler(share: share, followsParent: followsParent)
        default:
            let names = ["always_on", "always_off", "traceidratio"]
            problems.append(
                problem(
                    .sampler, ConfigurationSection.notAChoice(text, names + names.map { prefix + $0 })))
            return nil
        }
    }

    private func value(_ variable: Variable) -> String? {
        environment[variable.rawValue].flatMap { $0.isEmpty ? nil : $0 }
    }

    private func problem(_ variable: Variable, _ text: String) -> ConfigurationProblem {
        ConfigurationProblem(ConfigurationPlace(source: variable.rawValue, line: nil), text)
    }
}
