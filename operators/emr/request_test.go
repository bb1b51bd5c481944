package emr_test

import (
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/integration/localstack"
	"zerodag/operators/operatortest"
)

// records stores the requests to EMR, S3 and KMS, and answers each one successfully.
type records struct {
	mu    sync.Mutex
	lines []string
}

func record(t *testing.T) (*records, string) {
	t.Helper()
	r := &records{}
	s := httptest.NewServer(localstack.Judged(t, r))
	t.Cleanup(s.Close)
	return r, s.URL
}

func (r *records) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	_, operation, _ := strings.Cut(request.Header.Get("X-Amz-Target"), ".")
	if operation == "" {
		operation = request.Method + " " + request.URL.Path
	}
	answer := map[string]string{"ListClusters": `{"Clusters":[]}`, "ListSteps": `{"Steps":[]}`, "RunJobFlow": `{"JobFlowId":"j-77"}`,
		"AddJobFlowSteps": `{"StepIds":["s-1","s-2"]}`, "Encrypt": `{"CiphertextBlob":"c2VhbGVk"}`}[operation]
	if strings.HasSuffix(operation, "/jobruns") && request.Method == http.MethodPost {
		answer = `{"applicationId":"a","jobRunId":"r-77","arn":"x"}`
	}
	if !strings.HasPrefix(operation, "List") && operation != "Encrypt" && !strings.Contains(string(body), "import ") && !strings.Contains(string(body), "System.exit") {
		var in any
		if json.Unmarshal(body, &in) == nil {
			text, _ := json.MarshalIndent(in, "", " ")
			body = text
		}
		r.mu.Lock()
		r.lines = append(r.lines, operation+"\n"+string(body)+"\n")
		r.mu.Unlock()
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	io.WriteString(w, answer)
}

var rewrite = flag.Bool("rewrite", false, "write the files of testdata anew")

// TestRequests compares all requests and staged files with the files in testdata.
func TestRequests(t *testing.T) {
	t.Parallel()
	tag := regexp.MustCompile(`\([0-9A-F]{13}\)|/[0-9A-F]{13}/|"[0-9A-F]{13}"`)
	for _, name := range []string{"cluster", "steps", "serverless", "hive"} {
		params, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		r, url := record(t)
		w := operatortest.New(t, string(params))
		for _, service := range []string{"emr", "s3", "kms"} {
			w.Vault["aws."+service+".endpoint"] = url
		}
		for key, value := range map[string]string{"aws.access_key_id": "k", "aws.secret_access_key": "s", "aws.region": "eu-west-1", "aws.emr.kms_key_id": "key", "password": "it's"} {
			w.Vault[key] = value
		}
		w.Template = func(text string) (string, error) { return strings.ReplaceAll(text, "${day}", "29"), nil }
		for _, file := range []string{"app.py", "app.scala", "query.sql", "app.jar", "script.sh", "query.q", "lib.jar", "data.txt"} {
			w.File(t, file, file+" ${day}\n")
		}
		w.File(t, "conf.json", `[{"Classification": "hive-site", "Properties": {"day": "${day}"}, "Configurations": [{"Classification": "in"}]}]`)
		look(t, w)
		got := tag.ReplaceAllStringFunc(strings.Join(r.lines, "\n"), func(s string) string { return s[:1] + "TAG" + s[len(s)-1:] })
		got = regexp.MustCompile(`"clientToken": "[0-9a-f-]{36}"`).ReplaceAllString(got, `"clientToken": "TOKEN"`)
		golden := "testdata/" + name + ".txt"
		if *rewrite {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if diff := cmp.Diff(string(want), got); diff != "" || err != nil {
			t.Errorf("%s: %s %v", name, diff, err)
		}
	}
}
