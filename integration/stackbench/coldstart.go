package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"zerodag/internal/env"
)

// coldStart returns the median time from the start of a bootstrap's process to its first request for work, with the
// file in memory.
func coldStart(ctx context.Context, bootstrap string, times int) (time.Duration, error) {
	var all []time.Duration
	for range times {
		took, err := startOnce(ctx, bootstrap)
		if err != nil {
			return 0, err
		}
		all = append(all, took)
	}
	return median(all), nil
}

// startOnce starts a bootstrap with a Runtime API that has no work.
func startOnce(ctx context.Context, bootstrap string) (time.Duration, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	asked := make(chan time.Time, 1)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- time.Now():
		default:
		}
		<-r.Context().Done()
	})}
	go s.Serve(l)
	defer s.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, bootstrap)
	cmd.Env = append(lambdaEnvironment(), "AWS_LAMBDA_RUNTIME_API="+l.Addr().String())
	cmd.Stderr = os.Stderr
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	select {
	case at := <-asked:
		return at.Sub(began), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("%s did not request work: %w", bootstrap, ctx.Err())
	}
}

// lambdaEnvironment returns the environment of a function on AWS, with resources that do not exist.
func lambdaEnvironment() []string {
	list := []string{"PATH=/usr/bin:/bin", "TMPDIR=" + os.TempDir(), "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_SESSION_TOKEN=test",
		"AWS_LAMBDA_FUNCTION_NAME=bench", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=1024", "AWS_EXECUTION_ENV=AWS_Lambda_provided.al2023"}
	for name, value := range (env.Config{Stage: "bench", Table: "t", Events: "https://sqs/e.fifo", Tasks: "https://sqs/t", Archives: "a", Logs: "l", Lease: time.Minute}).Variables() {
		list = append(list, name+"="+value)
	}
	return list
}

// coldGoal is how long a process may take until it requests work.
const coldGoal = 60 * time.Millisecond

// coldStarts prints the cold start of each bootstrap in a folder.
func coldStarts(ctx context.Context, folder string) error {
	found, err := filepath.Glob(filepath.Join(folder, "*", "bootstrap"))
	if err != nil || len(found) == 0 {
		return fmt.Errorf("no bootstrap files in %s: deploy first (integration/localstack/deploy.sh)", folder)
	}
	fmt.Println("\ncold start on this machine: process start to the first request for work, medians of 15")
	w := table("function", "took", "size")
	for _, path := range found {
		took, err := coldStart(ctx, path, 15)
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		row(w, filepath.Base(filepath.Dir(path)), against(float64(took.Microseconds())/1000, float64(coldGoal.Milliseconds()), "%.0f ms"), fmt.Sprintf("%.1f MB", float64(info.Size())/1e6))
	}
	return w.Flush()
}
