extension Schema {
    /// `token` is not what senders hold but what it is made of, see ``StoredToken``: a lookup goes by the FID in front
    /// of the token, so only a token without a FID in front is in an index of its own. `channel`: 0 APNs production, 1
    /// APNs sandbox, 2 FCM, 3 Web Push; 4 and 5 are no install but the stand-ins of broadcast channels of APNs production
    /// and sandbox, which no list has and no count. `address`: by the channel the device token, the token as text in UTF-8, the
    /// endpoint. `address_detail`: of a browser the keys that its pushes are encrypted with; of a token of FCM that a sender
    /// named 01. `proven_at`: when the push service first accepted the address; NULL: it never did. `quarantined_at`: since
    /// when fan-outs pass the registration by. `bound`: an installation made it; kept here, since installations are
    /// forgotten. `superseded` says of one that was replaced that it was by an install that is not its own.
    ///
    /// A FID is a project's: that another project has it too must not show, so each may. That two apps of one project have
    /// it is asked for when a registration is made.
    ///
    /// The unique index over active addresses says that no device gets a push twice. Each index ends with the key
    /// by itself: `registration_by_app` is walked in the order of keys. The other indexes hold only what is rare.
    ///
    /// No trigger runs when one is inserted: SQLite then keeps the former content of each page that the statement changes,
    /// which costs as much as the row. What triggers would do is in ``InsertedRegistrations``.
    static let registrations = """
        CREATE TABLE registration (
            key INTEGER PRIMARY KEY AUTOINCREMENT,
            fid TEXT NOT NULL,
            token ANY NOT NULL CHECK (typeof(token) IN ('blob', 'text') AND length(token) > 0),
            app INTEGER NOT NULL REFERENCES app (id),
            address BLOB NOT NULL CHECK (length(address) > 0),
            channel INTEGER NOT NULL CHECK (channel IN (0, 1, 2, 3, 4, 5)),
            address_detail BLOB CHECK (
                CASE channel
                    WHEN 2 THEN address_detail IS NULL OR address_detail = x'01'
                    WHEN 3 THEN address_detail IS NOT NULL AND length(address_detail) IN (81, 146)
                    ELSE address_detail IS NULL
                END),
            user TEXT CHECK (length(user) > 0),
            app_version TEXT,
            created_at INTEGER NOT NULL,
            refreshed_at INTEGER NOT NULL,
            proven_at INTEGER,
            quarantined_at INTEGER,
            quarantine_reason TEXT CHECK ((quarantine_reason IS NULL) = (quarantined_at IS NULL)),
            ended_at INTEGER,
            end_cause TEXT CHECK (end_cause IN ('deleted', 'unregistered', 'replaced')),
            bound INTEGER CHECK (bound = 1),
            superseded INTEGER
                CHECK (superseded IS NULL OR superseded = 1 AND end_cause = 'replaced'),
            CHECK ((ended_at IS NULL) = (end_cause IS NULL))
        ) STRICT;
        CREATE UNIQUE INDEX registration_fid ON registration (fid, app);
        CREATE UNIQUE INDEX registration_foreign_token ON registration (token)
            WHERE typeof(token) = 'text' AND substr(token, 1, 1) <> ':';
        CREATE UNIQUE INDEX registration_active ON registration (app, address) WHERE ended_at IS NULL;
        CREATE INDEX registration_by_app ON registration (app) WHERE ended_at IS NULL AND channel < 4;
        CREATE INDEX registration_by_user ON registration (user, app) WHERE user IS NOT NULL AND ended_at IS NULL;
        CREATE INDEX registration_quarantined ON registration (app)
            WHERE quarantined_at IS NOT NULL AND ended_at IS NULL;
        CREATE INDEX registration_ended ON registration (ended_at) WHERE ended_at IS NOT NULL;
        CREATE TRIGGER registration_ended AFTER UPDATE OF ended_at ON registration
        WHEN old.ended_at IS NULL AND new.ended_at IS NOT NULL AND new.channel < 4 BEGIN
            UPDATE project SET registrations = registrations - 1
            WHERE name = (SELECT project FROM app WHERE id = old.app);
        END;
        CREATE TRIGGER registration_gone AFTER DELETE ON registration
        WHEN old.ended_at IS NULL AND old.channel < 4 BEGIN
            UPDATE project SET registrations = registrations - 1
            WHERE name = (SELECT project FROM app WHERE id = old.app);
        END;
        CREATE TRIGGER registration_revived AFTER UPDATE OF ended_at ON registration
        WHEN old.ended_at IS NOT NULL AND new.ended_at IS NULL AND new.channel < 4 BEGIN
            INSERT INTO project (name, registrations) VALUES ((SELECT project FROM app WHERE id = new.app), 1)
                ON CONFLICT (name) DO UPDATE SET registrations = registrations + 1;
        END;
        """

    /// Keeps `meta.registration_clock`, beside ``InsertedRegistrations``.
    static let registrationClock = """
        CREATE TRIGGER registration_clock_refreshed AFTER UPDATE OF refreshed_at ON registration
        WHEN new.refreshed_at > 60000 + (SELECT value FROM meta WHERE name = 'registration_clock')
        BEGIN
            UPDATE meta SET value = new.refreshed_at WHERE name = 'registration_clock';
        END;
        """

    /// `registration_change` names the registrations whose token, address, user, end or quarantine changed
    /// last, by an ascending number: a claim that read its recipients in a snapshot looks whether one of them is behind
    /// the number that the snapshot showed. The newest ten thousand are kept; a snapshot that is older is read again as
    /// a whole.
    static let registrationChanges = """
        CREATE TABLE registration_change (
            number INTEGER PRIMARY KEY,
            registration INTEGER NOT NULL
        ) STRICT;
        CREATE TRIGGER registration_changed
        AFTER UPDATE OF token, address, channel, address_detail, user, ended_at, quarantined_at ON registration
        WHEN old.address <> new.address OR old.channel <> new.channel OR old.address_detail IS NOT new.address_detail
            OR old.user IS NOT new.user OR old.token IS NOT new.token
            OR (old.ended_at IS NULL) <> (new.ended_at IS NULL)
            OR (old.quarantined_at IS NULL) <> (new.quarantined_at IS NULL)
        BEGIN
            INSERT INTO registration_change (registration) VALUES (new.key);
            DELETE FROM registration_change WHERE number <= (SELECT max(number) FROM registration_change) - 10000;
        END;
        """

    /// `registration_audit` says who followed whom on a device; it names FIDs, since it outlives the registrations.
    /// `credential` is what the change was made with; NULL: not known, or the gateway itself.
    static let registrationAudit = """
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
        CREATE INDEX registration_audit_of ON registration_audit (registration);
        CREATE INDEX registration_audit_former ON registration_audit (former) WHERE former IS NOT NULL;
        CREATE INDEX registration_audit_time ON registration_audit (time);
        """

    /// `former_registration` is what the ledger needs of registrations that were purged. No message after `last_message`
    /// can name one, so that it goes with the last message that may.
    static let formerRegistrations = """
        CREATE TABLE former_registration (
            key INTEGER PRIMARY KEY,
            fid TEXT NOT NULL,
            app INTEGER NOT NULL REFERENCES app (id),
            last_message INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX former_registration_last ON former_registration (app, last_message);
        """

    /// `import_position` is written with the rows of an import, so that another run goes on where they end.
    static let imports = """
        CREATE TABLE import_position (
            source TEXT NOT NULL PRIMARY KEY,
            fingerprint INTEGER NOT NULL,
            line INTEGER NOT NULL CHECK (line >= 0),
            offset INTEGER NOT NULL CHECK (offset >= 0),
            imported INTEGER NOT NULL CHECK (imported >= 0),
            rejected INTEGER NOT NULL CHECK (rejected >= 0)
        ) STRICT, WITHOUT ROWID;
        """
}
