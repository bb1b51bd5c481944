// Command tap forwards requests for DynamoDB, which functions send to it directly, and passes a copy of each request
// and of its response to the judge of requests (../judge).
//
//	tap TARGET SOCKET
//
// LocalStack's plugin starts it, reads its address from its output, and ends it by closing its input. It handles only
// DynamoDB and its streams, whose operations are in a header.
package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"

	"zerodag/integration/localstack/judge"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: tap TARGET SOCKET")
	}
	connection, err := net.Dial("unix", os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s\n", listener.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	t := &tap{target: os.Args[1], judge: connection, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200, DisableCompression: true}}}
	log.Fatal(http.Serve(listener, t))
}

type tap struct {
	target string
	client *http.Client

	mu    sync.Mutex // each message to the judge is written as a whole
	judge io.Writer
}

// ServeHTTP answers only when the judge has the request, so that no client request is missing from a verdict.
func (t *tap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	out, err := http.NewRequestWithContext(r.Context(), r.Method, t.target+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	out.Header, out.Host = r.Header, r.Host
	in, err := t.client.Do(out)
	var text []byte
	if err == nil {
		text, err = io.ReadAll(in.Body)
		in.Body.Close()
	}
	status, header := http.StatusBadGateway, http.Header{}
	if err == nil {
		status, header = in.StatusCode, in.Header
	}
	// Judge the request even if its client has gone, because it was sent.
	if told := t.tell(r, body, status, header, text); told != nil {
		log.Fatalf("tap: cannot connect to the judge of requests: %v", told) // its users then fail visibly
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	for name, values := range header {
		w.Header()[name] = values
	}
	w.WriteHeader(status)
	w.Write(text)
}

func (t *tap) tell(r *http.Request, body []byte, status int, header http.Header, answer []byte) error {
	prefix, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	service := "dynamodb"
	if strings.HasPrefix(prefix, "DynamoDBStreams") {
		service = "dynamodbstreams"
	}
	m := judge.Message{Service: service, Operation: operation, Protocol: "json", Method: r.Method, Target: r.URL.RequestURI(), Headers: judge.Pairs(r.Header),
		Status: status, Answered: judge.Pairs(header), Body: body, Answer: answer}
	t.mu.Lock()
	defer t.mu.Unlock()
	return m.Write(t.judge)
}
