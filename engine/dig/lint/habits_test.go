package lint

import (
	"testing"
	"time"
)

// TestHabitsOfOthers checks the warnings about values that other programs read differently; values that mean what they
// seem to cause none.
func TestHabitsOfOthers(t *testing.T) {
	t.Parallel()
	known := foreignKnown()
	known.Now = time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	known.Variables = []string{"session_date"}
	wantEach(t, known, nil, map[string]string{
		"+a: {http>: \"http://x\", retry: 3}":                                                                                "1:25: retry of http> must be true or false; 3 does not set the number of retries (task +main+a)",
		"+g:\n  _export: {_retry: 3}\n  +a: {sh>: x}":                                                                        "2:13: _retry in _export applies to each group and each task below, so their retries multiply (task +main+g)",
		"sla: {time: \"25:00\"}\n+a: {sh>: x}":                                                                               "1:7: time of sla is on a later day than it appears to be: 25:00",
		"sla: {time: \"09:61\"}\n+a: {sh>: x}":                                                                               "1:7: time of sla is on a later day than it appears to be: 09:61",
		"schedule: {daily>: \"07:00:00\", end: 2020-01-01}\n+a: {sh>: x}":                                                    "1:1: this schedule has ended: it starts no more sessions",
		"zerodag: 1\nschedule: {once>: \"2020-01-01 07:00:00\"}\n+a: {sh>: x}":                                               "2:1: this schedule has ended: it starts no more sessions",
		"+a: {echo>: \"at $(date)\"}":                                                                                        "1:6: $(date) is not expanded because echo> runs no commands (task +main+a)",
		"_export: {name: x}\n+a: {echo>: \"Hello {name}\"}\n+b: {echo>: \"$ {name}\"}\n+c: {echo>: \"$[name]\"}":             "2:6: {name} is not expanded (task +main+a); 3:6: $ {name} is not expanded (task +main+b); 4:6: $[name] is not expanded (task +main+c)",
		"+a: {echo>: \"${moment('31.12.2026').format('YYYY')}\"}":                                                            "1:6: moment may mistake the day of 31.12.2026 for the month (task +main+a)",
		"+a: {sh>: \"dir %PATH%\"}":                                                                                          "1:6: %PATH% is not expanded: only Windows' cmd.exe replaces it (task +main+a)",
		"_export: {name: x}\n+a: {sh>: \"echo %name%\"}":                                                                     "2:6: %name% is not expanded: only Windows' cmd.exe replaces it (task +main+a)",
		"+a: {loop>: 2.7, _do: {sh>: x}}":                                                                                    "1:6: loop> must be a whole number: 2.7 counts as 2 (task +main+a)",
		"_parallel: {limit: 1.5}\n_retry: 2.5\n+a: {sh>: x}":                                                                 "1:13: limit of _parallel must be a whole number: 1.5 counts as 1 (task +main); 2:1: _retry must be a whole number: 2.5 counts as 2 (task +main)",
		"timezone: Etc/GMT+2\nschedule: {daily>: \"07:00:00\"}\n+a: {sh>: x}":                                                "1:1: Etc/GMT+2 means UTC-2: its sign is inverted",
		"_export: {a:1}\n+a: {sh>: x}":                                                                                       "1:11: a:1 is a key without a value: the space after the colon is missing",
		"+a: {sh>: \"x $TOKEN\", _env: {TOKEN: \"secret:api\"}}":                                                             "1:30: secret:api is not expanded (task +main+a)",
		"+a: {switch>: \"${n}\", _cases: {JP: {echo>: x}, _default: {echo>: y}, \"*\": {echo>: z}, \"DE, FR\": {echo>: w}}}": "1:48: _default matches only the value '_default' (task +main+a); 1:70: * matches only the value '*' (task +main+a); 1:87: DE, FR matches only that text, not several values (task +main+a)",
		"+a: {echo>: \"on $(session_date)\"}":                                                                                "1:6: $(session_date) is not expanded (task +main+a)",
		// valid
		"+a: {switch>: \"${n}\", _cases: {JP: {echo>: x}, /^(DE|FR)$/: {echo>: y}}, _default: {echo>: z}}\n+b: {sh>: x, _env: {T: \"${secret:a}\", U: \"secret: x\"}}": "",
		"timezone: Etc/GMT\nschedule: {daily>: \"07:00:00\"}\n+a: {sh>: \"psql -c \\\"select like '%FOO%'\\\"; date +%Y%m%d\"}":                                        "",
		"+a: {echo>: \"${moment('2026-12-31').format('YYYY')} ${moment('31.12.2026', 'DD.MM.YYYY')}\"}":                                                                "",
		"+a: {loop>: 2.0, _do: {sh>: x}}":                                                                                   "",
		"_export: {a: b:c, \"d:e\": null, f:g: 1}\n+a: {sh>: x}":                                                            "",
		"+a: {http>: \"http://x\", retry: true}\n+b: {http>: \"http://x\", retry: \"${n}\"}":                                "",
		"+g:\n  _export: {_retry: 0}\n  +a: {sh>: x, _export: {_retry: 3}}":                                                 "",
		"sla: {time: \"23:59:59\"}\n+a: {sh>: x}\nschedule: {daily>: \"07:00:00\", end: 2027-01-01}":                        "",
		"sla: {duration: \"25:00:00\"}\n+a: {sh>: x}":                                                                       "",
		"_export: {name: x}\n+a: {echo>: \"a {other} ${name} {\\\"name\\\": 1} $(5)\"}\n+b: {sh>: \"echo $(date) {name}\"}": "",
	})
	known.Folder = func(folder string) ([]string, bool) { return []string{"main.dig", "zerodag.yaml"}, folder == "." }
	wantEach(t, known, nil, map[string]string{"+a: {sh>: x}": "zerodag.yaml: this file is not read"})
	keys := map[string]string{"id_rsa": "-----BEGIN OPENSSH PRIVATE KEY-----\n", "ca.pem": "-----BEGIN CERTIFICATE-----\n", "note.txt": "PRIVATE KEY-----"}
	known.Folder = func(folder string) ([]string, bool) {
		return []string{"main.dig", "id_rsa", "ca.pem", "note.txt"}, folder == "."
	}
	wantEach(t, known, keys, map[string]string{"+a: {sh>: x}": "id_rsa: this private key is part of the project, so everyone who can see the project can read it"})
	known.Folder = func(folder string) ([]string, bool) {
		return []string{"main.dig", "zerodag.yaml", "zerodag.yml"}, folder == "."
	}
	wantEach(t, known, nil, map[string]string{"+a: {sh>: x}": ""})
}
