package mysql

import (
	"testing"

	"zerodag/operators/operatortest"
	"zerodag/operators/operatortest/mariadb"
	"zerodag/operators/operatortest/sqltest"
)

const everyType = `select cast(1 as signed) a, 18446744073709551615 b, 1.50 c, 1.5e0 d, 'x' e, cast('ab' as char(3)) f, x'01ff' g, date '2024-02-29' h,
	timestamp '2024-02-29 12:34:56.789' i, time '12:34:56' j, null k, json_object('a', 1) l, bits.a m, true n, 'é' o, cast('2024-02-29 12:34:56' as datetime) p,
	cast('100:00:00' as time) q, @@time_zone r from bits`

// statusTables creates the tables that sqltest needs.
const statusTables = `create database own; create table worked (a int); create table made_by_admin (query_id varchar(100) not null primary key, created_at datetime(6) not null, completed_at datetime(6));
		insert into made_by_admin values ('old', utc_timestamp() - interval 3 hour, utc_timestamp() - interval 2 hour), ('newer', utc_timestamp(), utc_timestamp()), ('open', utc_timestamp(), null)`

func subject(server mariadb.Server) sqltest.Subject {
	running := func(_ *testing.T, _ *operatortest.World, statement string) string {
		return "select count(*) from information_schema.processlist where info = '" + statement + "'"
	}
	return sqltest.Subject{
		Operator: Operator(), Secrets: "mysql", Port: server.Port, User: mariadb.User, Database: mariadb.Database, Careful: mariadb.Careful, Password: mariadb.Password,
		Rows: server.Rows, Exec: server.Exec, Greets: true, Sleep: "select sleep(%v)", Running: running, Left: running,
		Values:    values(),
		Downloads: downloads(),
		Broken:    "select a, if(a = 2, (select 1 union select 2), 0) from texts order by a",
		Errors:    failures(),
		Rejected: func(given bool) string {
			return "Failed to connect to the database [ERROR 1045 (28000): Access denied for user 'careful'@'127.0.0.1' (using password: " + map[bool]string{true: "YES", false: "NO"}[given] + ")]"
		},
		Statements: []sqltest.Statement{
			sqltest.Do(sqltest.Data("select 1 as a, 'x' as b")+`, "create_table": "target.New"`, "select * from New", "1 x"),
			sqltest.Do(sqltest.Data("select 2 as a, 'y' as b;")+`, "create_table": "New"`, "select * from New", "2 y"),
			sqltest.Do(sqltest.Data("select 3, 'z'")+`, "insert_into": "New"`, "select * from New order by a", "2 y", "3 z"),
			sqltest.Do(sqltest.Data("create table `quo``ted` (a int)"), "select count(*) from `quo``ted`", "0"),
			sqltest.Do(sqltest.Data("select 4 as a")+", \"insert_into\": \"quo`ted\"", "select * from `quo``ted`", "4"),
		},
		StatusTables: statusTables,
		Denied:       []string{"Failed to create a status table `forbidden`", "ERROR 1142 (42000): CREATE command denied"},
		Requests:     12, Open: 2,
	}
}

func values() map[string]string {
	return map[string]string{
		sqltest.Data(everyType) + `, "store_last_results": "first"`: `{"a":1,"b":18446744073709551615,"c":1.5,"d":1.5,"e":"x","f":"ab","g":"Af8=","h":1709164800000,` +
			`"i":1709210096789,"j":"12:34:56","k":null,"l":"{\"a\": 1}","m":5,"n":1,"o":"é","p":1709210096000,"q":"100:00:00","r":"+00:00"}`,
		sqltest.Data("select 1 as id, 'one' as name union select 2, 'two'") + `, "store_last_results": "all"`:       `[{"name":"one","id":1},{"name":"two","id":2}]`,
		sqltest.Data("select 1 as id, 'one' as name union select 2, 'two';") + `, "store_last_results": true`:       `{"name":"one","id":1}`,
		sqltest.Data("select 1 as a from sinks where false") + `, "store_last_results": "first"`:                    `{}`,
		`"mysql": {"query": "select 1 as a, 2 as a"}, "store_last_results": "all"`:                                  `[{"a":2}]`,
		sqltest.Data("select cast('0000-00-00' as date) a, cast(5 as unsigned) b") + `, "store_last_results": true`: `{"a":"0000-00-00","b":5}`,
	}
}

func downloads() map[string]string {
	return map[string]string{
		"select 1 as a, 1.50 as b, 'x,y' as c, '' as d, null as e, date '2024-02-29' as f, timestamp '2024-02-29 12:34:56' as g, x'01ff' as h": "a,b,c,d,e,f,g,h\r\n" +
			"1,1.50,\"x,y\",\"\",,2024-02-29,2024-02-29 12:34:56.0,\\x01ff\r\n",
		`select 1 as a from sinks where false`: "a\r\n",
	}
}

func failures() map[string]operatortest.Ended {
	return map[string]operatortest.Ended{
		sqltest.Data("select * from nowhere") + `, "store_last_results": "all"`: {
			Error: "Failed to execute given SELECT statement [ERROR 1146 (42S02): Table 'target.nowhere' doesn't exist]"},
		sqltest.Data("insert into nowhere values (1)"):               {Error: "Failed to execute given SQL script [ERROR 1146 (42S02): Table 'target.nowhere' doesn't exist]"},
		sqltest.Data("do 1; insert into nowhere values (1)"):         {Error: "Failed to execute given SQL script [ERROR 1146 (42S02): Table 'target.nowhere' doesn't exist]"},
		sqltest.Data("select 1") + `, "insert_into": "no.where"`:     {Error: "Failed to execute an update statement [ERROR 1146 (42S02): Table 'no.where' doesn't exist]"},
		sqltest.Data("do 1") + `, "store_last_results": "all"`:       {Error: "Failed to execute given SELECT statement [No results were returned by the query.]"},
		sqltest.Data("delete from sinks") + `, "download_file": "x"`: {Error: "Query must be read-only if download_file is set", Kind: "config"},
		`"query": "select 1", "database": "none"`:                    {Error: "Failed to connect to the database [ERROR 1049 (42000): Unknown database 'none']"},
		`"query": "select 1", "user": "nobody"`: {Error: "Failed to connect to the database [ERROR 1045 (28000): Access denied for user 'nobody'@'127.0.0.1' (using password: NO)]" +
			": there is no secret mysql.password, set it with `zerodag secrets --project project --set mysql.password`"},
	}
}
