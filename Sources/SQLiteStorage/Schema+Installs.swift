import GRDB
import Store

// Version 12: which registrations belong to an installation, and what becomes of one whose device token another names.

extension Schema {
    /// Marks the registrations of installations, and makes the audit of registrations anew. A version never changes after
    /// its release.
    static func migrateInstalls(_ db: Database) throws {
        try db.execute(sql: boundRegistrations)
        try db.execute(sql: audit)
        try db.execute(sql: blankUsers)
    }

    /// `bound`: an installation made it. Kept with the registration, since installations are forgotten. `superseded`
    /// says of one that was replaced that it was by an install that is not its own; `superseded_subscription` holds its
    /// topics until its installation takes it back or it is purged.
    private static let boundRegistrations = """
        ALTER TABLE registration ADD COLUMN bound INTEGER CHECK (bound = 1);
        ALTER TABLE registration ADD COLUMN superseded INTEGER
            CHECK (superseded IS NULL OR superseded = 1 AND end_cause = 'replaced');
        UPDATE registration SET bound = 1
            WHERE key IN (SELECT registration FROM installation WHERE registration IS NOT NULL);
        CREATE TABLE superseded_subscription (
            registration INTEGER NOT NULL REFERENCES registration (key) ON DELETE CASCADE,
            topic INTEGER NOT NULL REFERENCES topic (id),
            created_at INTEGER NOT NULL,
            PRIMARY KEY (registration, topic)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX superseded_subscription_by_topic ON superseded_subscription (topic);
        """

    /// `credential` is what the change was made with; NULL: before this version, or by the gateway itself.
    private static let audit = """
        ALTER TABLE registration_audit RENAME TO registration_audit_5;
        DROP INDEX registration_audit_of;
        DROP INDEX registration_audit_former;
        DROP INDEX registration_audit_time;
        CREATE TABLE registration_audit (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            app INTEGER NOT NULL REFERENCES app (id),
            time INTEGER NOT NULL,
            cause TEXT NOT NULL
                CHECK (cause IN ('user_assigned', 'user_changed', 'device_token_moved', 'device_token_changed')),
            registration TEXT NOT NULL,
            former TEXT CHECK ((former IS NULL) = (cause IN ('user_assigned', 'device_token_changed'))),
            user TEXT,
            former_user TEXT,
            credential TEXT CHECK (length(credential) > 0)
        ) STRICT;
        INSERT INTO registration_audit (id, app, time, cause, registration, former, user, former_user)
            SELECT id, app, time, cause, registration, former, user, former_user FROM registration_audit_5;
        DROP TABLE registration_audit_5;
        CREATE INDEX registration_audit_of ON registration_audit (registration);
        CREATE INDEX registration_audit_former ON registration_audit (former) WHERE former IS NOT NULL;
        CREATE INDEX registration_audit_time ON registration_audit (time);
        """

    /// Users of blanks alone were taken before. Unicode's White_Space without the control characters.
    private static let blankUsers: String = {
        let codes = [0x20, 0xa0, 0x1680] + Array(0x2000...0x200a) + [0x2028, 0x2029, 0x202f, 0x205f, 0x3000]
        let blanks = "char(\(codes.map(String.init).joined(separator: ", ")))"
        return """
            UPDATE registration SET user = NULL WHERE user IS NOT NULL AND trim(user, \(blanks)) = '';
            UPDATE registration_audit SET user = NULL WHERE trim(user, \(blanks)) = '';
            UPDATE registration_audit SET former_user = NULL WHERE trim(former_user, \(blanks)) = '';
            """
    }()
}
