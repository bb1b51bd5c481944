package glue

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/glue"
	"github.com/aws/aws-sdk-go-v2/service/glue/types"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/aws"
)

// crawler is one crawl. A crawler runs one crawl at a time, and reports when its last one began: that distinguishes the
// task's own crawl from earlier ones.
type crawler struct {
	service
	name string
}

// run waits until no other crawl runs, stores which crawl was the last one, then starts its own and waits until the
// last crawl is a different one.
func (c *crawler) run(ctx context.Context) (operators.Result, error) {
	state := aws.Job(c.task)
	looks, err := state.IntOr("looks", 0)
	if err != nil {
		return operators.Result{}, err
	}
	before, err := state.StringOr("before", "")
	if err != nil {
		return operators.Result{}, err
	}
	tries, err := state.IntOr("tries", 0)
	if err != nil {
		return operators.Result{}, err
	}
	out, err := c.getCrawler(ctx, &glue.GetCrawlerInput{Name: &c.name})
	switch {
	case err != nil && ctx.Err() == nil && aws.Temporary(err), err == nil && out.Crawler.State != types.CrawlerStateReady:
		return operators.Result{}, c.lookAgain(before, looks)
	case err != nil:
		return operators.Result{}, c.call("look up crawler "+c.name, "glue:GetCrawler").Failure(ctx, err)
	case before == "":
		return operators.Result{}, aws.Again(c.task, 0, param.New("before", began(out.Crawler.LastCrawl)))
	case before == began(out.Crawler.LastCrawl):
		return operators.Result{}, c.begin(ctx, before, tries)
	}
	return c.result(out.Crawler.LastCrawl)
}

// began returns when a crawl began, or "never" if there is none.
func began(last *types.LastCrawlInfo) string {
	if last == nil || last.StartTime == nil {
		return "never"
	}
	return last.StartTime.UTC().Format("2006-01-02T15:04:05.000Z")
}

func (c *crawler) begin(ctx context.Context, before string, tries int64) error {
	_, err := c.startCrawler(ctx, &glue.StartCrawlerInput{Name: &c.name}, onlyRefused)
	if err != nil && aws.Code(err) != "CrawlerRunningException" { // an earlier run's crawl, or an equivalent one
		if again, later := c.notStarted(ctx, err, tries, param.New("before", before)); again {
			return later
		}
		return c.call("start crawler "+c.name, "glue:StartCrawler").Failure(ctx, err)
	}
	c.log(operators.Info, "Started crawler "+c.name)
	return c.lookAgain(before, 0)
}

func (c *crawler) lookAgain(before string, looks int64) error {
	job := param.New("looks", looks+1)
	if before != "" {
		job.Set("before", before)
	}
	return aws.Again(c.task, aws.Backoff(looks, shortestWait, longestWait), job)
}

func (c *crawler) result(last *types.LastCrawlInfo) (operators.Result, error) {
	if last.Status != types.LastCrawlStatusSucceeded {
		text := sdk.ToString(last.ErrorMessage)
		if text != "" {
			text = ": " + text
		}
		return operators.Result{}, operators.Failf("glue>: crawler %s ended as %s%s", c.name, last.Status, text)
	}
	crawl := param.New("crawler", c.name, "state", string(last.Status), "started", began(last))
	return operators.Result{Store: param.New("glue", param.New("last_crawl", crawl)), ResetStore: [][]string{{"glue", "last_crawl"}}}, nil
}

// stop ends the crawl after a kill, unless the task has not begun one: then the current crawl is not its own.
func (c *crawler) stop(ctx context.Context) error {
	if before, err := aws.Job(c.task).StringOr("before", ""); err != nil || before == "" {
		return err
	}
	_, err := c.stopCrawler(ctx, &glue.StopCrawlerInput{Name: &c.name})
	if code := aws.Code(err); code == "CrawlerNotRunningException" || code == "CrawlerStoppingException" {
		return nil
	}
	return c.call("stop crawler "+c.name, "glue:StopCrawler").Failure(ctx, err)
}
