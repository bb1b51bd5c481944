package target

// embeddedOnly names the tests that no deployed stack can pass, and why.
var embeddedOnly = map[string]string{}
