package pg

import (
	"fmt"
	"testing"

	"zerodag/operators/operatortest"
	"zerodag/operators/operatortest/postgres"
	"zerodag/operators/operatortest/sqltest"
)

const everyType = `select 1::smallint a, 2 b, 3::bigint c, 1.5::real d, 5::float8 e, 1.50::numeric f, 'NaN'::numeric g, true h, 'x'::text i, 'y'::varchar j,
	'ab'::char(3) k, '\x01ff'::bytea l, date '2024-02-29' m, timestamp '2024-02-29 12:34:56.789' n, timestamptz '2024-02-29 12:34:56+09' o,
	time '12:34:56.7' p, null::int q, '{"a":1}'::jsonb r, '{1,2}'::int[] s, '6f8b47dd-b3a7-4eb4-ba62-90ea1628ad93'::uuid t, '12.5'::money u,
	date 'infinity' v, 'sunny'::weather w, inet '10.0.0.1' x, 'infinity'::float8 y, 12345678901234567890 z`

// The values and their forms in Digdag's driver (42.3.1) and JSON library, recorded while running both.
const objects = `select '{"a": 1}'::json a, interval '1 year 2 mons -3 days -04:05:06.7' b, timetz '00:34:56.789+09:30' c, B'1'::bit(1) d,
	B'101'::bit(3) e, point '(1.25,-2)' f, path '[(1,2),(3,4)]' g, circle '<(1,2),3>' h, timestamp '-infinity' i, 'null'::jsonb j, null::jsonb k,
	int4range(1,5) l, time '24:00' m, ARRAY['{}'::json] n`

const wantObjects = `{"a":{"type":"json","value":"{\"a\": 1}","null":true},` +
	`"b":{"type":"interval","value":"1 years 2 mons -3 days -4 hours -5 mins -6.7 secs","years":1,"months":2,"days":-3,"hours":-4,"minutes":-5,` +
	`"wholeSeconds":-6,"microSeconds":-700000,"seconds":-6.7,"null":true},"c":"15:04:56","d":true,"e":{"type":"bit","value":"101","null":true},` +
	`"f":{"type":"point","value":"(1.25,-2.0)","x":1.25,"y":-2.0,"isNull":false,"null":true},` +
	`"g":{"type":"path","value":"[(1.0,2.0),(3.0,4.0)]","open":true,"points":[{"type":"point","value":"(1.0,2.0)","x":1.0,"y":2.0,"isNull":false,"null":true},` +
	`{"type":"point","value":"(3.0,4.0)","x":3.0,"y":4.0,"isNull":false,"null":true}],"closed":false,"null":true},` +
	`"h":{"type":"circle","value":"<(1.0,2.0),3.0>","center":{"type":"point","value":"(1.0,2.0)","x":1.0,"y":2.0,"isNull":false,"null":true},"radius":3.0,"null":true},` +
	`"i":-9223372036832400000,"j":{"type":"jsonb","value":"null","null":true},"k":null,"l":{"type":"int4range","value":"[1,5)","null":true},"m":"00:00:00","n":"{\"{}\"}"}`

// statusTables creates the tables that sqltest needs.
const statusTables = `create schema own; create table worked (a int); grant insert, select on worked to careful;
		create table made_by_admin (query_id text not null unique, created_at timestamptz not null, completed_at timestamptz);
		grant select, insert, update, delete on made_by_admin to careful;
		insert into made_by_admin values ('old', now() - interval '3 hours', now() - interval '2 hours'), ('newer', now(), now()), ('open', now(), null)`

func subject(server postgres.Server) sqltest.Subject {
	s := sqltest.Subject{
		Operator: Operator(), Secrets: "pg", Port: server.Port, User: postgres.User, Database: postgres.Database, Careful: postgres.Careful, Password: postgres.Password,
		Rows: server.Rows, Exec: func(t testing.TB, script string) { server.Rows(t, script) }, Sleep: "select pg_sleep(%v)",
		Running: func(t *testing.T, w *operatortest.World, statement string) string {
			return of(t, w) + " and state = 'active' and query = '" + statement + "'"
		},
		Left:      func(t *testing.T, w *operatortest.World, _ string) string { return of(t, w) },
		Values:    values(),
		Downloads: downloads(),
		Broken:    "select 1 / (3 - n) from generate_series(1, 5) n",
		Errors:    failures(server),
		Rejected: func(bool) string {
			return `Failed to connect to the database [FATAL: password authentication failed for user "careful"]`
		},
		Settings: map[string]string{"schema": "public"},
		Statements: []sqltest.Statement{
			sqltest.Do(sqltest.Data("select 1 as a, 'x' as b")+`, "create_table": "Sch.New"`, `select * from "Sch"."New"`, "1 x"),
			sqltest.Do(sqltest.Data("select 2 as a, 'y' as b;")+`, "create_table": "Sch.New"`, `select * from "Sch"."New"`, "2 y"),
			sqltest.Do(sqltest.Data("select 3, 'z'")+`, "insert_into": "Sch.New"`, `select * from "Sch"."New" order by a`, "2 y", "3 z"),
			sqltest.Do(sqltest.Data(`create table "quo""ted" (a int)`), `select count(*) from "quo""ted"`, "0"),
			sqltest.Do(sqltest.Data("select 4 as a")+`, "insert_into": "quo\"ted"`, `select * from "quo""ted"`, "4"),
		},
		StatusTables: statusTables,
		Denied:       []string{`Failed to create a status table "forbidden"`, "permission denied for schema public"},
		Requests:     12, Open: 2,
	}
	return s
}

// of returns the beginning of a query that counts a task's sessions.
func of(t *testing.T, w *operatortest.World) string {
	return "select count(*) from pg_stat_activity where application_name = '" + application(t, w) + "'"
}

func values() map[string]string {
	return map[string]string{
		sqltest.Data(everyType) + `, "store_last_results": "first"`: `{"a":1,"b":2,"c":3,"d":1.5,"e":5.0,"f":1.5,"g":"NaN","h":true,"i":"x","j":"y","k":"ab ",` +
			`"l":"Af8=","m":1709164800000,"n":1709210096789,"o":1709177696000,"p":"12:34:56","q":null,"r":{"type":"jsonb","value":"{\"a\": 1}","null":true},` +
			`"s":"{1,2}","t":"6f8b47dd-b3a7-4eb4-ba62-90ea1628ad93","u":12.5,"v":9223372036825200000,"w":"sunny","x":{"type":"inet","value":"10.0.0.1","null":true},` +
			`"y":"Infinity","z":12345678901234567890}`,
		sqltest.Data("select * from (values (1, 'one'), (2, 'two')) as t(id, name)") + `, "store_last_results": "all"`:                                   `[{"name":"one","id":1},{"name":"two","id":2}]`,
		sqltest.Data("select * from (values (1, 'one'), (2, 'two')) as t(id, name);") + `, "store_last_results": true`:                                   `{"name":"one","id":1}`,
		sqltest.Data(objects) + `, "store_last_results": "first"`:                                                                                        wantObjects,
		sqltest.Data("select 1 as a where false") + `, "store_last_results": "true"`:                                                                     `{}`,
		sqltest.Data("select 1 as a where false") + `, "store_last_results": "all"`:                                                                      `[]`,
		`"pg": {"query": "select 1 as a, 2 as a"}, "store_last_results": "all"`:                                                                          `[{"a":2}]`,
		`"query": "select current_schema as a, current_setting('TimeZone') as b", "pg": {"schema": "information_schema"}, "store_last_results": "first"`: `{"a":"information_schema","b":"UTC"}`,
	}
}

func downloads() map[string]string {
	return map[string]string{
		everyType: "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z\r\n1,2,3,1.5,5.0,1.50,NaN,true,x,y,ab ,\\x01ff,2024-02-29,2024-02-29 12:34:56.789," +
			"2024-02-29 03:34:56.0,12:34:56,,\"{\"\"a\"\": 1}\",\"{1,2}\",6f8b47dd-b3a7-4eb4-ba62-90ea1628ad93,12.5,infinity,sunny,10.0.0.1,Infinity,12345678901234567890\r\n",
		`select '' as "a,b", null as c, E'x\r\ny' as d, E'\n' as e, '"' as f where true`: "\"a,b\",c,d,e,f\r\n\"\",,\"x\ny\",\"\n\",\"\"\"\"\r\n",
		`select 1 as a where false`: "a\r\n",
	}
}

func failures(server postgres.Server) map[string]operatortest.Ended {
	return map[string]operatortest.Ended{
		sqltest.Data("select * from nowhere") + `, "store_last_results": "all"`: {
			Error: "Failed to execute given SELECT statement [ERROR: relation \"nowhere\" does not exist\n  Position: 15]"},
		sqltest.Data("select 1; select 2") + `, "store_last_results": "all"`: {
			Error: "Failed to execute given SELECT statement [ERROR: cannot insert multiple commands into a prepared statement]"},
		sqltest.Data("set x.y = 1") + `, "store_last_results": "all"`: {
			Error: "Failed to execute given SELECT statement [No results were returned by the query.]"},
		sqltest.Data("insert into sinks values (1)") + `, "store_last_results": "all"`: {
			Error: "Query must be read-only if store_last_results is set", Kind: "config"},
		sqltest.Data("insert into sinks values (1)") + `, "download_file": "x"`: {
			Error: "Query must be read-only if download_file is set", Kind: "config"},
		sqltest.Data("insert into nowhere values (1)"): {
			Error: "Failed to execute given SQL script [ERROR: relation \"nowhere\" does not exist\n  Position: 13]"},
		sqltest.Data("select 1") + `, "insert_into": "no.where"`: {
			Error: "Failed to execute an update statement [ERROR: relation \"no.where\" does not exist\n  Position: 13]"},
		sqltest.Data("do $$ begin raise 'no' using detail = 'd', hint = 'h'; end $$") + `, "strict_transaction": false`: {
			Error: "Failed to execute given SQL script [ERROR: no\n  Detail: d\n  Hint: h\n  Where: PL/pgSQL function inline_code_block line 1 at RAISE]"},
		sqltest.Data("copy sinks from stdin") + `, "strict_transaction": false`: {
			Error: "Failed to execute given SQL script [ERROR: COPY from stdin failed: tasks have no standard input, use INSERT\n  Where: COPY sinks, line 1]"},
		sqltest.Data("select 1") + `, "database": "none", "store_last_results": "all"`: {
			Error: "Failed to connect to the database [FATAL: database \"none\" does not exist]"},
		sqltest.Data("select 1") + `, "host": "/tmp", "store_last_results": "all"`: {
			Error: "Failed to connect to the database [/tmp/.s.PGSQL." + fmt.Sprint(server.Port) + " (/tmp): dial error: /tmp is not a host name]"},
		sqltest.Data("select 1") + `, "user": "encrypted", "store_last_results": "all"`: {
			Error: `Failed to connect to the database [FATAL: pg_hba.conf rejects connection for host "127.0.0.1", user "encrypted", database "target", ` +
				"no encryption]: set `ssl: true` if the server requires encrypted connections"},
	}
}
