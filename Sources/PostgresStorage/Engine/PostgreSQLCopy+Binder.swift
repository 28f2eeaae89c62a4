package import PostgreSQLClient
import SQLStorage

extension PostgreSQLCopy: ParameterBinder {}
