extension Scenario.Name {
    /// A fresh value of what the scenario does.
    var behavior: any ScenarioBehavior {
        switch self {
        case .none: GoodConnection()
        case .streamRamp: StreamRamp()
        case .collapseAfterReject: CollapseAfterReject()
        case .goAwayShutdown: GoAwayShutdown()
        case .goAwayPartial: GoAwayPartial()
        case .drop: Drop()
        case .reset: Reset()
        case .halfOpen: HalfOpen()
        case .slow: Slow()
        case .tooManyRequests: TooManyRequests()
        case .unavailableBurst: UnavailableBurst()
        case .tokenUpdates: TokenUpdates()
        case .expiredWedge: ExpiredWedge()
        case .unrelatedKey: UnrelatedKey()
        case .badDeviceShare: BadDeviceShare()
        case .unregisteredShare: UnregisteredShare()
        case .flowControlStall: FlowControlStall()
        case .settingsFlap: SettingsFlap()
        case .bigHeaders: BigHeaders()
        }
    }
}
