package target

// embeddedOnly names the tests that no deployed stack can pass, and why.
var embeddedOnly = map[string]string{
	"TestLimits":              "its limits are not those that the test chooses",
	"TestMetrics":             "its metrics are in CloudWatch; a function's process counts its own calls only",
	"TestUserInfo":            "it has no listener for administrators",
	"TestEvents":              "a command decides when the test goes on; integration/aws has one without",
	"TestEventsEndWithServer": "there is no server that stops",
}
