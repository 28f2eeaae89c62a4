import PushModel
import Store
import TestSupport
import Testing

@testable import PostgresStorage
@testable import SQLStorage

/// Claims, pages and look-ups find their rows by an index, whatever the size of the tables.
@Suite(.timeLimit(.minutes(5)), .enabled(if: PostgreSQLServer.isInstalled))
struct QueryPlanTests {
    /// A statement that runs often, or in a transaction that others wait for.
    struct Hot: Sendable, CustomTestStringConvertible {
        let name: String
        let sql: String
        var testDescription: String { name }
    }

    static let hot: [Hot] = [
        Hot(name: "newest change", sql: RegistrationChanges.newest),
        Hot(name: "newest change and event", sql: RegistrationChanges.newestOfAll),
        Hot(name: "accepted events", sql: AcceptedEvents.accepted),
        Hot(name: "oldest event", sql: EventReader.oldest),
        Hot(name: "event at", sql: EventReader.at),
        Hot(name: "events", sql: EventReader.rows),
        Hot(name: "messages of receipts", sql: EventReader.receiptMessage),
        Hot(name: "webhook", sql: WebhookTable.byID),
        Hot(name: "webhooks of a project", sql: WebhookTable.ofProject),
        Hot(name: "secrets of a webhook", sql: WebhookTable.secrets),
        Hot(name: "attempts of a webhook", sql: WebhookAttemptTable.newest),
        Hot(name: "attempts to forget", sql: WebhookAttemptTable.forget),
        Hot(name: "dead letters of a webhook", sql: WebhookAttemptTable.letters),
        Hot(name: "dead letters to forget", sql: WebhookAttemptTable.forgetLetters),
        Hot(name: "events to forget", sql: EventTable.forget),
        Hot(name: "blocks of an event", sql: EventReader.blocks),
        Hot(name: "replacement", sql: EventReader.replacement),
        Hot(name: "changes", sql: RegistrationChanges.after),
        Hot(name: "moves of device tokens", sql: TokenMoves.into),
        Hot(name: "moves to a registration", sql: TokenMoves.of),
        Hot(name: "times ahead", sql: FutureTimes.clocks),
        Hot(name: "times that follow", sql: FutureTimes.nextHours),
        Hot(name: "ends that callers wait for", sql: RecordedEndReader.ended),
        Hot(name: "blocks of such ends", sql: RecordedEndReader.blocks),
        Hot(name: "due", sql: PendingTable.due),
        Hot(name: "due of a message", sql: PendingTable.dueOfMessage),
        Hot(name: "next route", sql: PendingTable.nextRoute),
        Hot(name: "next due", sql: PendingTable.next),
        Hot(name: "waits too long", sql: PendingTable.nextBeyond),
        Hot(name: "bring forward", sql: PendingTable.bringForward),
        Hot(name: "claim a due one", sql: PendingTable.claim),
        Hot(name: "move to another route", sql: PendingTable.moveToRoute),
        Hot(name: "take from pending", sql: PendingTable.take),
        Hot(name: "route", sql: RouteTable.byName),
        Hot(name: "route by number", sql: RouteTable.byID),
        Hot(name: "pauses of a route", sql: RoutePauseTable.count),
        Hot(name: "pauses of a worker", sql: RoutePauseTable.ofWorker),
        Hot(name: "next project", sql: FanOutTable.nextProject),
        Hot(name: "next open message", sql: FanOutTable.nextMessage),
        Hot(name: "next open message with own shards", sql: FanOutTable.nextOwnMessage),
        Hot(name: "open shards", sql: FanOutTable.shardsOfMessage),
        Hot(name: "open shards of other nodes", sql: FanOutTable.shardsOfOthers),
        Hot(name: "oldest shard of a route", sql: FanOutTable.oldestOfRoute),
        Hot(name: "claimed of a message", sql: FanOutTable.claimed),
        Hot(name: "shard", sql: Shard.byID),
        Hot(name: "released page", sql: FanOutTable.released),
        Hot(name: "claim a page", sql: FanOutTable.claimPage),
        Hot(name: "whether the cursor is where it was", sql: FanOutTable.isUnmoved),
        Hot(name: "move the cursor", sql: FanOutTable.moveCursor),
        Hot(name: "reopen", sql: FanOutTable.reopen),
        Hot(name: "subscribers", sql: CandidateReader.subscribers),
        Hot(name: "keys of a topic", sql: KeyStream.topic),
        Hot(name: "keys of a project", sql: KeyStream.app),
        Hot(name: "keys of a list", sql: KeyStream.list),
        Hot(name: "keys set aside", sql: KeyStream.setAside),
        Hot(name: "shard of a route", sql: FanOutTable.splitOff),
        Hot(name: "more set aside", sql: FanOutTable.moreSetAside),
        Hot(name: "split", sql: FanOutTable.split),
        Hot(name: "expect", sql: FanOutTable.expect),
        Hot(name: "registration by key", sql: DeliveryRegistrationReader.byKey),
        Hot(name: "registration by FID in any project", sql: RegistrationTable.byIDInAnyProject),
        Hot(
            name: "registration by old token in any project",
            sql: RegistrationTable.byForeignTokenInAnyProject(.postgreSQL)),
        Hot(name: "empty topics", sql: TopicTable.mark),
        Hot(name: "purge topics", sql: TopicTable.purge),
        Hot(name: "count of a project's topics", sql: TopicTable.count),
        Hot(name: "topic by name", sql: TopicTable.byName),
        Hot(name: "subscribers of a topic", sql: AudienceCounter.subscribers),
        Hot(name: "registrations of a project", sql: AudienceCounter.registrations),
        Hot(name: "first subscriber", sql: AcceptStep.firstSubscriber),
        Hot(name: "last subscriber", sql: AcceptStep.lastSubscriber),
        Hot(name: "last registration", sql: AcceptStep.lastRegistration),
        Hot(name: "idempotency key", sql: IdempotencyTable.find),
        Hot(name: "forget idempotency keys", sql: IdempotencyTable.forget),
        Hot(name: "changes of the load", sql: LoadChange.after),
        Hot(name: "worker", sql: WorkerTable.isRunning),
        Hot(name: "lapsed workers", sql: WorkerTable.lapsed),
        Hot(name: "give pending back", sql: WorkerTable.givePendingBack),
        Hot(name: "give claims of messages back", sql: WorkerTable.makePending),
        Hot(name: "release claims of messages", sql: WorkerTable.release),
        Hot(name: "open in pages of a worker", sql: WorkerTable.openInPages),
        Hot(name: "give pages back", sql: WorkerTable.givePagesBack),
        Hot(name: "open shards of a worker", sql: WorkerTable.openShards),
        Hot(name: "backlog: waiting", sql: Backlog.waiting),
        Hot(name: "backlog: held", sql: Backlog.held),
        Hot(name: "backlog: claimed", sql: Backlog.claimed),
        Hot(name: "backlog: claimed messages", sql: Backlog.claimedMessages),
        Hot(name: "backlog: in pages", sql: Backlog.inPages),
        Hot(name: "backlog: unclaimed", sql: Backlog.unclaimed),
        Hot(name: "a project's backlog: waiting", sql: ProjectBacklog.waiting),
        Hot(name: "a project's backlog: claimed", sql: ProjectBacklog.claimed),
        Hot(name: "a project's backlog: claimed messages", sql: ProjectBacklog.claimedMessages),
        Hot(name: "a project's backlog: paused", sql: ProjectBacklog.paused),
        Hot(name: "a project's backlog: unclaimed", sql: ProjectBacklog.unclaimed),
        Hot(name: "a project's backlog: paused fan-outs", sql: ProjectBacklog.pausedUnclaimed),
        Hot(name: "a project's backlog: in pages", sql: ProjectBacklog.inPages),
        Hot(name: "a project's backlog: released", sql: ProjectBacklog.released(isPaused: false)),
        Hot(name: "message to control", sql: ControlStep.state),
        Hot(name: "end of a step of marking", sql: ControlStep.markingEnd),
        Hot(name: "mark", sql: ControlStep.mark),
        Hot(name: "release", sql: ControlStep.release),
        Hot(name: "hold what was come by", sql: PendingTable.hold),
        Hot(name: "cancelled messages", sql: ControlStep.cancelled),
        Hot(name: "released pages of a message", sql: ControlStep.released),
        Hot(name: "waiting of a message", sql: ControlStep.waiting),
        Hot(name: "unclaimed of a message", sql: ControlStep.unclaimed),
        Hot(name: "waiting of a message on a platform", sql: ControlStep.waitingUnprobed(on: .apple)),
        Hot(name: "unclaimed of a message on a platform", sql: ControlStep.unclaimed(on: .web)),
        Hot(name: "expired messages", sql: ExpiryReader.messages),
        Hot(name: "expired platforms of messages", sql: ExpiryReader.platforms),
        Hot(name: "expired platform of a message", sql: ControlStep.isExpiredOnPlatform),
        Hot(name: "facts of messages by platform", sql: MessagePlatformTable.facts),
        Hot(name: "page", sql: SettleStep.pageByID),
        Hot(name: "message by number", sql: SettleStep.messageBySeq),
        Hot(name: "message by id", sql: SettleStep.messageByID),
        Hot(name: "messages by id", sql: OpenMessageRow.byIDs),
        Hot(name: "worker, ahead", sql: AskedRows.isRunning),
        Hot(name: "worker and clock, ahead", sql: AskedRows.workerAndClock),
        Hot(name: "complete claimed ones", sql: ClaimedEnds.complete),
        Hot(name: "settle a page", sql: SettleStep.settlePage),
        Hot(name: "remove a page", sql: SettleStep.removePage),
        Hot(name: "put back", sql: SettleStep.putBack),
        Hot(name: "complete", sql: MessageTable.complete),
        Hot(name: "complete a claimed one", sql: MessageTable.completeClaimed),
        Hot(name: "release a claim", sql: SettleStep.release),
        Hot(name: "load that ends", sql: ProjectLoad.end),
        Hot(name: "claimed delivery of a message", sql: DeliveryReader.claimed),
        Hot(name: "ledger of a registration: singles", sql: RegistrationDeliveryReader.singles),
        Hot(name: "blocks that messages share", sql: SharedBlocks.blocks),
        Hot(name: "messages that name a block", sql: SharedBlocks.named),
        Hot(name: "messages of a block", sql: LedgerReader.messages),
        Hot(name: "block", sql: StoredBlock.byID),
        Hot(name: "message", sql: MessageTable.byID),
        Hot(name: "registration by FID", sql: RegistrationTable.byID),
        Hot(name: "registration by foreign token", sql: RegistrationTable.byForeignToken(.postgreSQL)),
        Hot(name: "registration by address", sql: RegistrationTable.byAddress),
        Hot(name: "count of inserted registrations", sql: InsertedRegistrations.count),
        Hot(name: "clock of inserted registrations", sql: InsertedRegistrations.clock),
        Hot(name: "moves to an inserted registration", sql: InsertedRegistrations.move),
        Hot(name: "subscription", sql: TopicTable.subscription),
        Hot(name: "unsubscribe", sql: TopicTable.unsubscribe),
        Hot(name: "subscriptions", sql: TopicTable.subscriptions),
        Hot(name: "sums by day", sql: DeliveryDayReader.ended),
        Hot(name: "waiting deliveries by day", sql: DeliveryDayReader.waiting),
        Hot(name: "claimed deliveries by day", sql: DeliveryDayReader.claimed),
        Hot(name: "pages of open messages", sql: DeliveryDayReader.pages),
        Hot(name: "app of a registration", sql: KeyApps.ofKey),
        Hot(name: "app of a registration that is gone", sql: KeyApps.ofFormer),
        Hot(name: "apps of registrations together", sql: KeyApps.ofRange),
        Hot(name: "apps of registrations that are gone together", sql: KeyApps.ofFormerRange),
        Hot(name: "topics of a project", sql: TopicReader.topics),
        Hot(name: "link", sql: LinkTable.byKey),
        Hot(name: "link by number", sql: LinkTable.byID),
        Hot(name: "link by digest", sql: LinkTable.byDigest),
        Hot(name: "prefix of links", sql: LinkTable.prefixID),
        Hot(name: "projects of a prefix", sql: LinkTable.prefixCount),
        Hot(name: "prefixes of a project", sql: LinkTable.prefixIDs),
        Hot(name: "links of a length", sql: LinkTable.sum),
        Hot(name: "newest links", sql: LinkLists.newest),
        Hot(name: "oldest links", sql: LinkLists.oldest),
        Hot(name: "counters of a link", sql: LinkCountTable.ofLink),
        Hot(name: "sums of a link", sql: LinkCountTable.sums),
        Hot(name: "links of a message", sql: MessageLinkTable.ofMessage),
        Hot(name: "counters to add to", sql: LinkCountTable.addition),
        Hot(name: "counters to forget", sql: LinkCountTable.forget),
        Hot(name: "days of a topic", sql: TopicDayTable.ofTopic),
        Hot(name: "days of topics to forget", sql: TopicDayTable.forget),
        Hot(name: "day of who joins", sql: TopicDayTable.join),
        Hot(name: "day of those who leave", sql: TopicDayTable.leave),
        Hot(name: "day of who leaves all", sql: TopicDayTable.leaveAll),
        Hot(name: "traffic to add to", sql: TrafficTable.addition),
        Hot(name: "traffic of a project", sql: TrafficTable.ofProject),
        Hot(name: "traffic to forget", sql: TrafficTable.forget),
        Hot(name: "click", sql: ClickTable.byID),
        Hot(name: "open clicks", sql: ClickTable.open),
        Hot(name: "whether a click is used up", sql: ClickTable.isUsed),
        Hot(name: "clicks to forget", sql: ClickTable.forget),
        Hot(name: "known install", sql: ClickTable.isKnown),
        Hot(name: "installs to forget", sql: ClickTable.forgetInstalls),
        Hot(name: "invitation", sql: ReferralTable.invitationByID),
        Hot(name: "invitation of a campaign", sql: ReferralTable.invitationByCampaign),
        Hot(name: "referral", sql: ReferralTable.byID),
        Hot(name: "referral of a click", sql: ReferralTable.byClick),
        Hot(name: "open referrals", sql: ReferralTable.open),
        Hot(name: "openings of an inviter", sql: ReferralTable.openings),
        Hot(name: "rewards of an inviter", sql: ReferralTable.rewards),
        Hot(name: "known invitee", sql: ReferralTable.isInviteeKnown),
        Hot(name: "clicked referrals to forget", sql: ReferralCountReader.forget),
        Hot(name: "subscribers of a topic, with their registrations", sql: TopicReader.subscribers),
        Hot(name: "newest messages", sql: ReportReader.newest),
        Hot(name: "newest active messages", sql: ReportReader.newest(in: .active)),
        Hot(name: "newest complete messages", sql: ReportReader.newest(in: .complete)),
        Hot(name: "deliveries in pages", sql: ReportReader.inPages),
        Hot(name: "deliveries in pending", sql: ReportReader.pending),
        Hot(name: "source of a message", sql: MessageTable.source),
        Hot(name: "waiting deliveries", sql: DeliveryReader.waiting),
        Hot(name: "ended deliveries", sql: DeliveryReader.ended(nil)),
        Hot(name: "accepted deliveries", sql: DeliveryReader.ended(.accepted)),
        Hot(name: "rejected deliveries", sql: DeliveryReader.ended(.rejected)),
        Hot(name: "export", sql: ExportReader.blocks),
        Hot(name: "names of ledger entries", sql: LedgerReader.names),
        Hot(name: "blocks of a registration", sql: RegistrationDeliveryReader.blocks),
        Hot(name: "blocks to look at", sql: RegistrationDeliveryReader.floor),
        Hot(name: "key of a registration", sql: RegistrationDeliveryReader.key),
        Hot(name: "blocks of a recount", sql: LedgerRecount.blocks),
        Hot(name: "next message of a recount", sql: LedgerRecount.messages),
        Hot(name: "waiting deliveries of a recount", sql: LedgerRecount.waitingKeys),
        Hot(name: "first key of a recount", sql: LedgerRecount.firstKey),
        Hot(name: "open pages of a message", sql: OpenPage.ofMessage),
        Hot(name: "bounds of an export", sql: ExportReader.bounds),
        Hot(name: "prove", sql: RegistrationTable.prove),
        Hot(name: "prove several for the first time", sql: Proofs.first),
        Hot(name: "prove several", sql: Proofs.others),
        Hot(name: "doubt", sql: RegistrationTable.doubt),
        Hot(name: "quarantine", sql: RegistrationTable.quarantine),
        Hot(name: "quarantined registrations", sql: RegistrationTable.quarantined),
        Hot(name: "registrations to prune", sql: PruneStep.quarantined),
        Hot(name: "lift quarantine", sql: RegistrationTable.lift),
        Hot(name: "list of an app", sql: RegistrationReader.active),
        Hot(name: "list of quarantined", sql: RegistrationReader.quarantined),
        Hot(name: "registrations of a user", sql: RegistrationReader.ofUser),
        Hot(name: "ended registrations", sql: RegistrationPurge.ended),
        Hot(name: "remember a registration", sql: RegistrationPurge.keep),
        Hot(name: "audit", sql: AuditTable.of),
        Hot(name: "audit log of a project", sql: AuditLogTable.newestOfProject),
        Hot(name: "audit log of an action", sql: AuditLogTable.newestOfAction),
        Hot(name: "forget of the audit log", sql: AuditLogTable.forget),
        Hot(name: "device group by key", sql: DeviceGroupTable.byKey),
        Hot(name: "key of a device group", sql: DeviceGroupTable.keyByName),
        Hot(name: "members of a device group", sql: DeviceGroupTable.membersOf),
        Hot(name: "keys of the members", sql: DeviceGroupTable.memberKeys),
        Hot(name: "active registration", sql: DeviceGroupTable.active),
        Hot(name: "remove a member", sql: DeviceGroupTable.removeMember),
        Hot(name: "remove an empty device group", sql: DeviceGroupTable.removeEmpty),
        Hot(name: "owner of a subscriber", sql: SubscriptionBatch.owner),
        Hot(name: "subscribed since", sql: SubscriptionBatch.since),
        Hot(name: "count of topics", sql: SubscriptionBatch.count),
        Hot(name: "registrations to export", sql: RegistrationExporter.rows),
        Hot(name: "topics to export", sql: RegistrationExporter.topics),
        Hot(name: "installation by FID", sql: InstallationTable.byID),
        Hot(name: "installation by token", sql: InstallationTable.byToken),
        Hot(name: "tokens of an installation", sql: InstallationTable.trim),
        Hot(name: "expired tokens", sql: InstallationTable.forgetTokens),
        Hot(name: "unused installations", sql: InstallationTable.forget),
        Hot(name: "taken FID", sql: InstallationTable.isTaken),
        Hot(name: "taken FIDs", sql: InstallationTable.takenIDs),
        Hot(name: "conflicts of an import", sql: NewRegistrations.conflicts),
        Hot(name: "conflicts of whole tokens", sql: NewRegistrations.tokenConflicts),
        Hot(name: "numbers for an import", sql: NewRegistrations.numbers),
        Hot(name: "moves of an import", sql: InsertedRegistrations.moves),
        Hot(name: "topics of an import", sql: SubscriptionBatch.named),
        Hot(name: "links of an import", sql: LinkTable.bySuffixes),
        Hot(name: "FID of a registration", sql: RegistrationTable.hasID),
        Hot(name: "whether a registration is an installation's", sql: InstallationTable.isLinked),
        Hot(name: "installation of a registration", sql: RegistrationTable.moveInstallation),
        Hot(name: "bind a registration", sql: InstallationRegistrar.bind),
        Hot(name: "keep subscriptions", sql: RegistrationTable.keepSubscriptions),
        Hot(name: "kept subscriptions", sql: RegistrationTable.keptSubscriptions),
        Hot(name: "forget kept subscriptions", sql: RegistrationTable.forgetKeptSubscriptions),
        Hot(name: "inherit a proof", sql: RegistrationTable.inheritProof),
        Hot(name: "revive", sql: RegistrationTable.revive),
        Hot(name: "app by platform and id", sql: AppTable.byKey),
        Hot(name: "apps of an id", sql: AppTable.byName),
        Hot(name: "message of a receipt", sql: ReceiptTable.message),
        Hot(name: "pending delivery of a receipt", sql: ReceiptTable.isPending),
        Hot(name: "blocks of a receipt", sql: ReceiptTable.blocks),
        Hot(name: "blocks of a receipt after accept", sql: ReceiptTable.blocksBetween),
        Hot(name: "pages of a receipt", sql: ReceiptTable.pages),
        Hot(name: "sums of receipts", sql: ReceiptTable.sums),
        Hot(name: "receipt of a day", sql: ReceiptTable.countDay),
        Hot(name: "receipts of deliveries", sql: ReceiptTable.ofDeliveries),
        Hot(name: "export of receipts", sql: ReceiptReader.window),
        Hot(name: "walk of payloads", sql: PayloadRemoval.walk),
        Hot(name: "payload to remove", sql: PayloadRemoval.remove),
        Hot(name: "kind of an ended single", sql: EndedSingleTable.kind),
        Hot(name: "single to move", sql: EndedSingleTable.insert),
        Hot(name: "kinds to remove", sql: EndedSingleTable.removeKinds),
        Hot(name: "walk of messages", sql: MessageRemoval.walk),
        Hot(name: "late payloads", sql: PayloadRemoval.late),
        Hot(name: "blocks to remove", sql: MessageRemoval.blocks),
        Hot(name: "receipts of a message to remove", sql: MessageRemoval.receipts),
        Hot(name: "receipts to remove", sql: ReceiptRemoval.remove),
        Hot(name: "hours to remove", sql: DayRemoval.hours),
        Hot(name: "sums of a day to remove", sql: DayRemoval.deliveries),
        Hot(name: "received sums of a day to remove", sql: DayRemoval.received),
        Hot(name: "former registrations to remove", sql: FormerRegistrations.remove),
    ]

    static let ofMessage = (MessageRemoval.rest + MessageRemoval.restOfSingle).map { Hot(name: $0, sql: $0) }

    /// So many rows that reading all of a table costs more than asking an index.
    private static let rows = """
        INSERT INTO project (name, registrations) SELECT 'p' || i, 1000 FROM generate_series(1, 2000) i;
        INSERT INTO app (id, project, name, platform) SELECT i, 'p' || i, 'app', 0 FROM generate_series(1, 2000) i;
        INSERT INTO route (id, project, app, channel) SELECT i, 'p' || i, 'app', 0 FROM generate_series(1, 2000) i;
        INSERT INTO worker (id, name, lease_until, ended_at)
            SELECT i, 'w', 5, CASE WHEN i % 100 > 0 THEN 6 END FROM generate_series(1, 2000) i;
        INSERT INTO registration (key, fid, token, app, address, channel, created_at, refreshed_at, "user")
            SELECT i, 'f' || i, '\\x00'::bytea || sha256(i::text::bytea), 1 + i % 20, sha256(i::text::bytea), 0, 5, i,
                CASE WHEN i % 3 = 0 THEN 'u' || i % 1000 END
            FROM generate_series(1, 10000) i;
        UPDATE registration SET ended_at = key, end_cause = 'deleted' WHERE key % 4 = 0;
        UPDATE registration SET quarantined_at = key, quarantine_reason = 'x' WHERE key % 40 = 1;
        INSERT INTO topic (id, project, name) SELECT i, 'p' || i % 20, 't' || i FROM generate_series(1, 2000) i;
        INSERT INTO subscription (topic, registration, number, created_at)
            SELECT 1 + i % 5, i, i, 5 FROM generate_series(1, 10000) i;
        INSERT INTO message (seq, id, project, registration, audience, singles, source, bytes, is_displayed, priority,
            time_to_live, lane, collapses_repeats, state, accepted_at, expires_at, completed_at, block)
            SELECT i, sha256(i::text::bytea), 'p' || i % 20, i, 1, 1, '{}', 2, 0, 10, 60, 0, 1, 'COMPLETE', i, i + 9, i + 5, i
            FROM generate_series(1, 10000) i;
        INSERT INTO message_platform (message, platform, priority, time_to_live, expires_at)
            SELECT i, i % 3, 10, 60, i FROM generate_series(1, 10000) i;
        INSERT INTO retention (project) SELECT 'p' || i FROM generate_series(0, 2000) i;
        INSERT INTO single_kind (is_displayed, priority, lane, collapses_repeats, last_message)
            SELECT 1, 10, 0, 1, i FROM generate_series(1, 2000) i;
        INSERT INTO ended_single (seq, id, project, kind, registration, accepted_at, time_to_live, took, block)
            SELECT 20000 + i, sha256(('e' || i)::bytea), 1 + i % 20, 1 + i % 2000, i, i, 60, 5, i
            FROM generate_series(1, 10000) i;
        INSERT INTO fan_out (message, shard, project, after_key, last_key, last_subscription, expected, done, is_open)
            SELECT i, 0, 'p' || i % 20, 0, 9, 0, 1, CASE WHEN i % 100 = 0 THEN 0 ELSE 1 END,
                CASE WHEN i % 100 = 0 THEN 1 ELSE 0 END
            FROM generate_series(1, 10000) i;
        INSERT INTO page (message, shard, worker, claimed, open, settled, keys)
            SELECT i, 0, CASE WHEN i % 3 > 0 THEN 1 + i % 2000 END, 8, 1 + i % 8, '\\x00', '\\x01'
            FROM generate_series(1, 5000) i;
        INSERT INTO pending (message, registration, lane, route, worker, is_held, not_before)
            SELECT i, i, i % 2, 1 + i % 20, CASE WHEN i % 3 = 0 THEN 1 + i % 2000 END,
                CASE WHEN i % 10 = 1 THEN 1 ELSE 0 END, i
            FROM generate_series(1, 10000) i;
        INSERT INTO ledger_block (message, project, recorded_at, first_key, last_key, rows, outcomes, entries)
            SELECT i, 'p' || i % 20, i, 1, 9, 1, CASE WHEN i % 9 = 0 THEN 2 ELSE 1 END, '\\x00'
            FROM generate_series(1, 10000) i;
        INSERT INTO receipt (message, registration, kind, project, time, recorded_at)
            SELECT i, i, 0, 'p' || i % 20, i, i FROM generate_series(1, 10000) i;
        INSERT INTO event (number, first, project, time, body)
            SELECT i, i, 'p' || i % 20, i, '\\x00' FROM generate_series(1, 10000) i;
        INSERT INTO link_prefix (id, name, project) SELECT i, 'n' || i, 'p' || i % 20 FROM generate_series(1, 2000) i;
        INSERT INTO link (id, prefix, suffix, kind, visibility, created_at, parameters)
            SELECT i, 1 + i % 5, 's' || i, 2, 1, i, '\\x80' FROM generate_series(1, 10000) i;
        INSERT INTO link_count (link, day, platform, event, count) SELECT i, i, 1, 1, 1 FROM generate_series(1, 10000) i;
        INSERT INTO idempotency (project, key, digest, message, expires_at)
            SELECT 'p' || i % 20, 'k' || i, sha256(i::text::bytea), i, i FROM generate_series(1, 10000) i;
        INSERT INTO registration_audit (app, time, cause, registration)
            SELECT 1 + i % 20, i, 'user_assigned', 'f' || i FROM generate_series(1, 10000) i;
        INSERT INTO audit_log (time, project, action, subject, credential_id)
            SELECT i, 'p' || i % 20, 'key.create', 's' || i, 'c' FROM generate_series(1, 10000) i;
        INSERT INTO installation (project, fid, app, refresh_digest, registration, created_at, used_at)
            SELECT 'p' || i % 20, 'f' || i, 'app', sha256(i::text::bytea), i, i, i FROM generate_series(1, 10000) i;
        INSERT INTO installation_token (digest, installation, expires_at)
            SELECT sha256(i::text::bytea), i, i FROM generate_series(1, 10000) i;
        INSERT INTO webhook_attempt (webhook, delivery, type, first, last, events, time, latency)
            SELECT i % 20, 'd', 't', 1, 1, 1, i, 5 FROM generate_series(1, 10000) i;
        INSERT INTO former_registration (key, fid, app, last_message)
            SELECT 20000 + i, 'g' || i, 1 + i % 20, i FROM generate_series(1, 10000) i;
        INSERT INTO link_click (id, project, platform, app, url, time, expires_at)
            SELECT decode(md5(i::text), 'hex'), 'p' || i % 20, 0, 'app', 'u', i, i FROM generate_series(1, 10000) i;
        INSERT INTO traffic (project, span, step, accepted, rejected, expired, cancelled)
            SELECT 'p' || i % 20, i % 3, i, 1, 0, 0, 0 FROM generate_series(1, 10000) i;
        INSERT INTO topic_day (topic, day, joined, gone) SELECT id, 1, 1, 0 FROM topic;
        ANALYZE;
        """

    /// Tables with so many rows.
    private static let large: Set<String> = [
        "registration", "subscription", "message", "message_platform", "ended_single", "fan_out", "page", "pending",
        "ledger_block", "ledger_block_first",
        "receipt", "event", "link", "link_count", "idempotency", "registration_audit", "audit_log", "installation",
        "installation_token", "webhook_attempt", "former_registration", "link_click", "traffic",
        "topic_day",
    ]

    private static let database = Shared<Task<String, any Error>?>(nil)

    private static func filled() async throws -> String {
        let task = database.withLock { task in
            if let task { return task }
            let new = Task {
                let database = try await SampleDatabase.make()
                try await PostgreSQLServer.shared().execute(rows, in: database)
                return database
            }
            task = new
            return new
        }
        return try await task.value
    }

    /// Statements that read all of a table, or nearly all, by intent.
    private static let readsAll: Set<String> = []

    @Test(arguments: hot + ofMessage)
    func hotStatementsReadNoTableAsAWhole(_ statement: Hot) async throws {
        let sql = StatementText.postgreSQL(statement.sql)
        let parameters = sql.matches(of: /\$(\d+)/).compactMap { Int($0.output.1) }.max() ?? 0
        let arguments =
            parameters == 0 ? "" : "(\(Array(repeating: "NULL", count: parameters).joined(separator: ", ")))"
        let plan = try await PostgreSQLServer.shared().execute(
            """
            SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off;
            SET enable_mergejoin = off; SET max_parallel_workers_per_gather = 0; SET jit = off; PREPARE hot AS \(sql);
            EXPLAIN (COSTS OFF) EXECUTE hot\(arguments)
            """, in: try await Self.filled())
        #expect(!plan.isEmpty)
        guard !Self.readsAll.contains(statement.name) else { return }
        for line in plan {
            let table = line.firstMatch(of: /Seq Scan on (\w+)/)?.output.1
            #expect(table.map { Self.large.contains(String($0)) } != true, "\(plan.joined(separator: "\n"))")
        }
    }
}
