// Command bed runs another command while the functions of a stage on LocalStack are subject to the rules of a real
// account: it rejects calls that the policies of their roles do not allow, requests that are larger than AWS accepts,
// and more than forty SSM calls per second. With -fresh, it imitates a new account, in which ten function calls can run
// at once. It writes the functions' usage to FILE, in the units of the bill.
//
//	go run ./integration/localstack/bed [-fresh] [-usage FILE] STAGE COMMAND...
//
// It fails if the command does, or if a policy refused anything. It must never be used together with tests that put
// their own proxy in front of the functions.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"zerodag/integration/localstack/iam"
	"zerodag/integration/localstack/proxy"
	"zerodag/internal/prices"
)

// parameterCalls is how many calls such as GetParametersByPath SSM accepts per second from an account.
const parameterCalls = 40

// How many function calls can run at once in a new account, and in an older one.
const (
	freshCalls = 10
	usualCalls = 1000
)

func main() {
	fresh := flag.Bool("fresh", false, "allow ten concurrent function calls")
	used := flag.String("usage", "", "file to which the usage is written")
	flag.Parse()
	if flag.NArg() < 2 {
		fmt.Fprintln(os.Stderr, "usage: bed [-fresh] STAGE COMMAND...")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *fresh, *used, flag.Arg(0), flag.Args()[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bed:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, fresh bool, used, stage string, command []string) (failed error) {
	judge, err := iam.Open()
	if err != nil {
		return err
	}
	defer judge.Close()
	p, stop, err := proxy.Open("")
	if err != nil {
		return err
	}
	defer stop()
	if err := p.Guard(ctx, stage, judge); err != nil {
		return err
	}
	p.Quota("ssm", parameterCalls)
	detach, err := p.Attach(ctx, stage, nil)
	if err != nil {
		return err
	}
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		failed = errors.Join(failed, detach(last), proxy.Concurrency(last, usualCalls))
	}()
	if fresh {
		if err := proxy.Concurrency(ctx, freshCalls); err != nil {
			return err
		}
	}
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := c.Run(); err != nil {
		failed = fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	return errors.Join(failed, report(p), writeUsage(used, p.Look()))
}

// writeUsage writes the usage of the functions in the format of package prices.
func writeUsage(file string, b proxy.Bill) error {
	if file == "" {
		return nil
	}
	var stored, fetched float64
	for c, n := range b.Calls {
		switch {
		case c.Service != "s3" || c.Operation == http.MethodDelete:
		case c.Operation == http.MethodGet || c.Operation == http.MethodHead:
			fetched += float64(n)
		default:
			stored += float64(n)
		}
	}
	return prices.Write(file, []prices.Metered{
		prices.Meter("Amazon DynamoDB", "WriteRequestUnits", b.Writes, prices.WriteUnit),
		prices.Meter("Amazon DynamoDB", "ReadRequestUnits", b.Reads, prices.ReadUnit),
		prices.Meter("Amazon Simple Queue Service", "Requests-Tier1 (of functions)", float64(b.Messages), prices.StandardRequest+prices.FairRequest),
		prices.Meter("Amazon Simple Queue Service", "Requests-FIFO-Tier1 (of functions)", float64(b.Ordered), prices.FIFORequest),
		prices.Meter("Amazon Simple Storage Service", "Requests-Tier1", stored, prices.ObjectWrite),
		prices.Meter("Amazon Simple Storage Service", "Requests-Tier2", fetched, prices.ObjectRead),
		prices.Meter("AmazonCloudWatch Events", "Event-64K-Chunks", float64(b.Of("events")), prices.BusEvent),
		prices.Meter("Amazon Simple Notification Service", "Requests-Tier1", float64(b.Of("sns")), prices.Notice),
		prices.Meter("AWS Key Management Service", "KMS-Requests (lower limit: secrets that were read)", float64(b.Calls[proxy.Call{Service: "ssm", Operation: "GetParametersByPath"}]), prices.KeyRequest),
	})
}

// report prints the usage, and fails if a policy refused a call or if there was no usage.
func report(p *proxy.Proxy) error {
	asked := p.Asked()
	for _, f := range slices.Sorted(maps.Keys(asked)) {
		var list []string
		for _, action := range slices.Sorted(maps.Keys(asked[f])) {
			list = append(list, fmt.Sprint(action, " ", asked[f][action]))
		}
		fmt.Printf("bed: %s requested %s\n", f, strings.Join(list, ", "))
	}
	for _, text := range p.Excesses() {
		fmt.Printf("bed: rejected because of its size, as on AWS: %s\n", text)
	}
	if len(asked) == 0 {
		return errors.New("no function called AWS: no permissions were checked")
	}
	if refused := p.Refused(); len(refused) > 0 {
		return fmt.Errorf("the policies of the functions' roles do not allow these calls:\n%s", strings.Join(refused, "\n"))
	}
	return nil
}
