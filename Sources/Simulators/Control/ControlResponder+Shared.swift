import Foundation
import NIOHTTP1

/// What the control endpoints of all services have.
extension ControlResponder {
    /// The remembered pushes, as `query` asks for them.
    func pushes<Push: Arrival & Encodable>(_ query: String, in recording: ArrivalLog<Push>) throws -> ControlReply {
        var after = 0
        if !query.isEmpty {
            guard query.hasPrefix("after="), let number = Int(query.dropFirst("after=".count)), number >= 0 else {
                return .error(.badRequest, "the query can only be after=N, N being a push's number")
            }
            after = number
        }
        return ControlReply(
            status: .ok, contentType: "application/x-ndjson", body: try NDJSON.encode(recording.pushes(after: after)))
    }

    /// Shows, replaces or removes the scenarios.
    ///
    /// - Parameter check: refuses sets that the service can't play.
    func reply(
        toScenarios method: HTTPMethod, _ body: Data, in book: ScenarioBook,
        check: (ScenarioSet) throws(SimulatorError) -> ScenarioSet = { set throws(SimulatorError) in set }
    ) throws -> ControlReply {
        switch method {
        case .GET: return try .json(book.scenarioSet)
        case .DELETE:
            book.set(ScenarioSet())
            return .done
        case .PUT: break
        default: return .error(.methodNotAllowed, "\(method.rawValue) is not possible here")
        }
        do {
            book.set(try check(try JSONDecoder().decode(ScenarioSet.self, from: body)))
            return .done
        } catch let error as DecodingError {
            return .error(.badRequest, error.problem)
        } catch let error as SimulatorError {
            return .error(.badRequest, error.description)
        } catch {
            return .error(.badRequest, "is not JSON")
        }
    }
}
