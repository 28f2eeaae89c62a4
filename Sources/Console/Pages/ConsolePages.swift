/// The pages of a project and what they do.
enum ConsolePages {
    /// The table of routes below `/p/{project}`.
    static let routes: [ConsoleRoute] =
        OverviewPage.routes + MessagePages.routes + ReportPage.routes + DeliveryPages.routes + DevicePages.routes
        + UserPages.routes + TopicPages.routes + ComposerPages.routes + LinkList.routes + LinkPage.routes
        + ReferralPage.routes
        + WebhookPages.routes + AccessPages.routes + AccessActs.routes + SettingPages.routes
}
