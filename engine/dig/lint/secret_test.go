package lint

import "testing"

// TestSecretsThatStayText checks the warnings about references to secrets that are not replaced, or become part of a
// script; references that a task gets cause none.
func TestSecretsThatStayText(t *testing.T) {
	t.Parallel()
	known := foreignKnown()
	wantEach(t, known, nil, map[string]string{
		"+a: {py>: m.f, token: \"${secret:api.token}\"}":                   "1:16: token of a task with py> cannot hold a secret: ${secret:...} is not expanded (task +main+a)",
		"+a: {pg>: q.sql, host: \"${secret:pg.host}\"}":                    "1:18: host of a task with pg> cannot hold a secret: ${secret:...} is not expanded (task +main+a)",
		"_export: {pw: \"${secret:a}\"}\n+a: {sh>: echo $pw}":              "1:11: pw of _export cannot hold a secret: ${secret:...} is not expanded (task +main)",
		"_export: {pg: {password: \"${secret:pg.pw}\"}}\n+a: {pg>: q.sql}": "1:11: pg of _export cannot hold a secret: ${secret:...} is not expanded (task +main)",
		"+a: {sh>: \"curl -u x:${secret:pw}\"}":                            "1:6: the value of the secret becomes part of the script, which runs any space, quote or $ in it as code (task +main+a)",
		"+a: {if>: true, _do: {echo>: \"key ${secret:k}\"}}":               "1:23: echo> does not read secrets: ${secret:...} is not expanded (task +main+a^sub)",
		// valid
		"+a: {sh>: echo $T, _env: {T: \"${secret:a}\"}}\n+b: {http>: \"${secret:url}\", content: \"${secret:x}\", retry: true}": "",
		"_export: {tok: \"${secret:a}\", http: {headers: [{X: \"${secret:b}\"}]}}\n+a: {sh>: x, _env: {T: \"${tok}\"}}":         "",
		"_export: {content: \"${secret:a}\"}\n+a: {http>: x, retry: true, method: POST}\n+b: {own>: x, token: \"${secret:a}\"}": "2:6: http> cannot send a request to \"x\": it must begin with http:// or https:// (task +main+a)",
	})
}
