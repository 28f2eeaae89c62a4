/// The names of time zones that mean the same: pages and apps of one device may use different ones, as browsers go by CLDR
/// (`Asia/Calcutta`) and systems by the present name of the IANA database (`Asia/Kolkata`; file `backward`). Names of zones
/// that merely have the same rules are no aliases.
package enum TimeZoneNames {
    /// The present name; an unknown one stays as it is. `nil`: the text is no name of a zone.
    package static func present(_ name: String) -> String? {
        let name = name.trimmingSpaces
        guard (1...64).contains(name.utf8.count), name.utf8.allSatisfy(isAllowed) else { return nil }
        return aliases[name] ?? name
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: [UInt8(ascii: "/"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "+")].contains(byte)
        }
    }

    /// Present names with the others in one text, separated by blanks.
    private static let groups: KeyValuePairs<String, String> = [
        "UTC": "GMT GMT0 GMT+0 GMT-0 Greenwich UCT Universal Zulu Etc/UTC Etc/GMT Etc/GMT0 Etc/GMT+0 Etc/GMT-0 Etc/UCT "
            + "Etc/Greenwich Etc/Universal Etc/Zulu",
        "Africa/Asmara": "Africa/Asmera", "Africa/Bamako": "Africa/Timbuktu", "Africa/Cairo": "Egypt",
        "Africa/Tripoli": "Libya",
        "America/Adak": "America/Atka US/Aleutian", "America/Anchorage": "US/Alaska",
        "America/Argentina/Buenos_Aires": "America/Buenos_Aires",
        "America/Argentina/Catamarca": "America/Catamarca America/Argentina/ComodRivadavia",
        "America/Argentina/Cordoba": "America/Cordoba America/Rosario",
        "America/Argentina/Jujuy": "America/Jujuy", "America/Argentina/Mendoza": "America/Mendoza",
        "America/Atikokan": "America/Coral_Harbour", "America/Chicago": "US/Central",
        "America/Denver": "US/Mountain America/Shiprock Navajo", "America/Detroit": "US/Michigan",
        "America/Edmonton": "Canada/Mountain America/Yellowknife", "America/Halifax": "Canada/Atlantic",
        "America/Havana": "Cuba",
        "America/Indiana/Indianapolis": "America/Indianapolis America/Fort_Wayne US/East-Indiana",
        "America/Indiana/Knox": "America/Knox_IN US/Indiana-Starke", "America/Iqaluit": "America/Pangnirtung",
        "America/Jamaica": "Jamaica", "America/Kentucky/Louisville": "America/Louisville",
        "America/Los_Angeles": "US/Pacific", "America/Manaus": "Brazil/West", "America/Mazatlan": "Mexico/BajaSur",
        "America/Mexico_City": "Mexico/General", "America/New_York": "US/Eastern",
        "America/Noronha": "Brazil/DeNoronha",
        "America/Nuuk": "America/Godthab", "America/Phoenix": "US/Arizona", "America/Regina": "Canada/Saskatchewan",
        "America/Rio_Branco": "America/Porto_Acre Brazil/Acre", "America/Santiago": "Chile/Continental",
        "America/Sao_Paulo": "Brazil/East", "America/St_Johns": "Canada/Newfoundland",
        "America/Tijuana": "America/Ensenada America/Santa_Isabel Mexico/BajaNorte",
        "America/Toronto": "America/Montreal America/Nipigon America/Thunder_Bay Canada/Eastern",
        "America/Vancouver": "Canada/Pacific", "America/Whitehorse": "Canada/Yukon",
        "America/Winnipeg": "America/Rainy_River Canada/Central",
        "Arctic/Longyearbyen": "Atlantic/Jan_Mayen",
        "Asia/Ashgabat": "Asia/Ashkhabad", "Asia/Dhaka": "Asia/Dacca", "Asia/Ho_Chi_Minh": "Asia/Saigon",
        "Asia/Hong_Kong": "Hongkong", "Asia/Jerusalem": "Asia/Tel_Aviv Israel", "Asia/Kathmandu": "Asia/Katmandu",
        "Asia/Kolkata": "Asia/Calcutta", "Asia/Macau": "Asia/Macao", "Asia/Makassar": "Asia/Ujung_Pandang",
        "Asia/Nicosia": "Europe/Nicosia", "Asia/Seoul": "ROK",
        "Asia/Shanghai": "Asia/Chongqing Asia/Chungking Asia/Harbin PRC",
        "Asia/Singapore": "Singapore", "Asia/Taipei": "ROC", "Asia/Tehran": "Iran", "Asia/Thimphu": "Asia/Thimbu",
        "Asia/Tokyo": "Japan", "Asia/Ulaanbaatar": "Asia/Ulan_Bator Asia/Choibalsan", "Asia/Urumqi": "Asia/Kashgar",
        "Asia/Yangon": "Asia/Rangoon",
        "Atlantic/Faroe": "Atlantic/Faeroe", "Atlantic/Reykjavik": "Iceland",
        "Australia/Adelaide": "Australia/South", "Australia/Brisbane": "Australia/Queensland",
        "Australia/Broken_Hill": "Australia/Yancowinna", "Australia/Darwin": "Australia/North",
        "Australia/Hobart": "Australia/Currie Australia/Tasmania", "Australia/Lord_Howe": "Australia/LHI",
        "Australia/Melbourne": "Australia/Victoria", "Australia/Perth": "Australia/West",
        "Australia/Sydney": "Australia/ACT Australia/Canberra Australia/NSW",
        "Europe/Chisinau": "Europe/Tiraspol", "Europe/Dublin": "Eire", "Europe/Istanbul": "Asia/Istanbul Turkey",
        "Europe/Kyiv": "Europe/Kiev Europe/Uzhgorod Europe/Zaporozhye", "Europe/Lisbon": "Portugal",
        "Europe/London": "Europe/Belfast GB GB-Eire", "Europe/Moscow": "W-SU", "Europe/Warsaw": "Poland",
        "Pacific/Auckland": "NZ Antarctica/South_Pole", "Pacific/Chatham": "NZ-CHAT",
        "Pacific/Chuuk": "Pacific/Truk Pacific/Yap", "Pacific/Easter": "Chile/EasterIsland",
        "Pacific/Honolulu": "US/Hawaii Pacific/Johnston", "Pacific/Kanton": "Pacific/Enderbury",
        "Pacific/Kwajalein": "Kwajalein", "Pacific/Pago_Pago": "Pacific/Samoa US/Samoa",
        "Pacific/Pohnpei": "Pacific/Ponape",
    ]

    private static let aliases = Dictionary(
        groups.flatMap { present, others in others.split(separator: " ").map { (String($0), present) } },
        uniquingKeysWith: { first, _ in first })
}
