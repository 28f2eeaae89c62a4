extension Schema {
    /// A user who invites has one code in a project, and one invitation for each campaign. A row of `referral` is made by
    /// the first click or the first opening that an invitation leads to; times of steps that it has not made are null.
    /// `state`: 1 clicked, 2 installed, 3 first opened, 4 converted, 5 rewarded, 6 rejected. `confidence`: 1 weak,
    /// 2 standard, 3 unique.
    static let referrals = """
        CREATE TABLE referral_inviter (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            project TEXT NOT NULL,
            user TEXT NOT NULL,
            code TEXT NOT NULL UNIQUE,
            UNIQUE (project, user)
        ) STRICT;

        CREATE TABLE referral_invitation (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
            inviter INTEGER NOT NULL REFERENCES referral_inviter (id) ON DELETE CASCADE,
            campaign TEXT NOT NULL,
            prefix TEXT NOT NULL,
            parameters TEXT NOT NULL,
            title TEXT,
            body TEXT,
            clicks INTEGER NOT NULL DEFAULT 0,
            created_at INTEGER NOT NULL,
            UNIQUE (inviter, campaign)
        ) STRICT;

        CREATE TABLE referral (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
            project TEXT NOT NULL,
            inviter INTEGER NOT NULL REFERENCES referral_inviter (id) ON DELETE CASCADE,
            invitation INTEGER NOT NULL REFERENCES referral_invitation (number) ON DELETE CASCADE,
            click BLOB UNIQUE CHECK (length(click) = 16),
            invitee TEXT,
            state INTEGER NOT NULL CHECK (state BETWEEN 1 AND 6),
            rejection INTEGER CHECK ((state = 6) = (rejection IS NOT NULL)),
            confidence INTEGER CHECK (confidence IN (1, 2, 3)),
            address BLOB CHECK (length(address) = 16),
            changed_at INTEGER NOT NULL,
            clicked_at INTEGER,
            opened_at INTEGER,
            converted_at INTEGER,
            rewarded_at INTEGER
        ) STRICT;
        CREATE INDEX referral_clicked ON referral (clicked_at) WHERE state = 1;
        CREATE INDEX referral_of ON referral (invitation);
        CREATE INDEX referral_opened ON referral (inviter, opened_at) WHERE opened_at IS NOT NULL;
        CREATE INDEX referral_rewarded ON referral (inviter, rewarded_at) WHERE rewarded_at IS NOT NULL;
        CREATE INDEX referral_invitee ON referral (project, invitee) WHERE invitee IS NOT NULL;
        """
}
