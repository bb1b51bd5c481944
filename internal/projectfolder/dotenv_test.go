package projectfolder

import "testing"

// TestUsesVariable checks in which forms files use an environment variable.
func TestUsesVariable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ext, text string
		want      bool
	}{
		{".dig", "+a: {sh>: echo $TOKEN}", true}, {".dig", "+a: {echo>: \"${TOKEN}\"}", false}, {".dig", "+a: {sh>: echo $TOKENS}", false},
		{".sh", "echo ${TOKEN:-x}", true}, {".sh", "TOKEN_X=1", false},
		{".py", "os.environ['TOKEN']", true}, {".py", "os.environ.get(\"TOKEN\")", true}, {".py", "os.getenv('TOKEN')", true}, {".py", "TOKEN", false},
		{".rb", "ENV[\"TOKEN\"]", true}, {".js", "process.env.TOKEN", true}, {".js", "process.env.TOKENS", false},
	} {
		if got := usesVariable(c.ext, "TOKEN", c.text); got != c.want {
			t.Errorf("%s %s: %t, want %t", c.ext, c.text, got, c.want)
		}
	}
}
