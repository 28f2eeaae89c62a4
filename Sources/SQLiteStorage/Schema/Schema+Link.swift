extension Schema {
    /// `link_prefix` stands for what links of a project begin with. A prefix belongs to one project, but may come to
    /// another one: then both have a row, and no suffix of the one is given to the other; an insertion looks at
    /// all rows of the name.
    ///
    /// Rows of `link` are never deleted: a suffix is not given twice. `suffix` is compared byte for byte. `parameters` are
    /// packed (``PackedParameters``). `is_changed`: the parameters are others than those that `link_digest` has, which
    /// is put right when the digest is asked for the next time. `kind`: 1 unguessable, 2 short, 3 custom, 4 imported, 5 tracked.
    /// `visibility`: 1 unarchived, 2 archived, 3 never shown. `state`: 0 active, 1 blocked, 2 deleted.
    ///
    /// `link_sum` counts the links by the length of their suffix. `day` of `link_count` is in days since 1970-01-01.
    static let links = """
        CREATE TABLE link_prefix (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL CHECK (length(name) > 0),
            project TEXT NOT NULL,
            UNIQUE (name, project)
        ) STRICT;
        CREATE INDEX link_prefix_by_project ON link_prefix (project);

        CREATE TABLE link (
            id INTEGER PRIMARY KEY,
            prefix INTEGER NOT NULL REFERENCES link_prefix (id),
            suffix TEXT NOT NULL CHECK (length(suffix) BETWEEN 1 AND 128),
            kind INTEGER NOT NULL CHECK (kind IN (1, 2, 3, 4, 5)),
            visibility INTEGER NOT NULL CHECK (visibility IN (1, 2, 3)),
            state INTEGER NOT NULL DEFAULT 0 CHECK (state IN (0, 1, 2)),
            is_changed INTEGER NOT NULL DEFAULT 0 CHECK (is_changed IN (0, 1)),
            created_at INTEGER NOT NULL,
            expires_at INTEGER,
            name TEXT,
            parameters BLOB NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX link_suffix ON link (prefix, suffix);
        CREATE INDEX link_listed ON link (prefix, visibility) WHERE state <> 2;

        CREATE TABLE link_digest (
            prefix INTEGER NOT NULL REFERENCES link_prefix (id),
            kind INTEGER NOT NULL,
            digest BLOB NOT NULL CHECK (length(digest) = 16),
            link INTEGER NOT NULL REFERENCES link (id),
            PRIMARY KEY (prefix, kind, digest)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE link_sum (
            prefix INTEGER NOT NULL REFERENCES link_prefix (id),
            kind INTEGER NOT NULL,
            length INTEGER NOT NULL,
            count INTEGER NOT NULL CHECK (count > 0),
            PRIMARY KEY (prefix, kind, length)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE link_count (
            link INTEGER NOT NULL REFERENCES link (id),
            day INTEGER NOT NULL,
            platform INTEGER NOT NULL CHECK (platform IN (1, 2, 3, 4)),
            event INTEGER NOT NULL CHECK (event IN (1, 2, 3, 4, 5)),
            count INTEGER NOT NULL CHECK (count > 0),
            PRIMARY KEY (link, day, platform, event)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX link_count_by_day ON link_count (day);
        """

    /// The links that were made with messages.
    static let messageLinks = """
        CREATE TABLE message_link (
            message INTEGER NOT NULL,
            link INTEGER NOT NULL REFERENCES link (id),
            PRIMARY KEY (message, link)
        ) STRICT, WITHOUT ROWID;
        """
}
