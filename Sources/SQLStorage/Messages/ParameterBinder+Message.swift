import PushModel
import Store

extension ParameterBinder {
    /// Label, whether something is displayed, collapse key, priority, time to live.
    func bind(_ facts: MessageFacts) {
        bind(facts.label?.rawValue)
        bind(facts.isDisplayed)
        bind(facts.collapseKey)
        bind(facts.priority)
        bind(facts.timeToLiveSeconds)
    }

    /// As ``CredentialUse/columns`` names them.
    func bind(_ credential: CredentialUse?) {
        bind(credential?.id)
        bind(credential?.name)
        bind(credential?.role?.rawValue)
        bind(credential?.address)
    }
}
