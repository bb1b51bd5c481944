package connection

import "testing"

// TestContextAddress checks which addresses a context may have, no matter how they got into its file.
func TestContextAddress(t *testing.T) {
	t.Parallel()
	for address, good := range map[string]bool{
		"http://127.0.0.1:65432": true, "https://flows.example.com/": true, "flows.example.com": true, "127.0.0.1:65432": true, "http://[::1]:1": true,
		"ftp://x": false, "http://": false, "": false, "https://me:pw@x": false, "http://a b": false, "http://x:port": false, "x\ny": false,
	} {
		if err := CheckAddress(address); (err == nil) != good {
			t.Errorf("%q: %v", address, err)
		}
	}
}
