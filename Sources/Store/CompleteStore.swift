/// What the API asks of its store: all but the work of delivering.
package typealias APIStore = RegistrationStore & SubscriptionStore & DeviceGroupStore & MessageStore & LedgerStore
    & CredentialStore & ServiceAccountStore & InstallationStore & ReceiptStore & AuditStore & EventStore & LinkStore
    & UserStore & ChannelStore

/// Everything that a gateway asks of its store.
package typealias CompleteStore = APIStore & DeliveryStore & ClickStore & ReferralStore & OperatorStore & StoreRetention
    & WebhookStore

/// A complete store with what commands do to it.
package typealias AdministeredStore = CompleteStore & StoreAdministration
