package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"fencepost/client"
	"fencepost/jobtype"
)

// Submit a batch and follow the job to its end.
func Example() {
	server, stop := startServer(true)
	defer stop()

	c, err := client.New(client.WithBaseURL(server), client.WithCredentials(user, password))
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	accepted, err := c.Submit(ctx, "orders-2026-11-29", []byte(`[{"id":"order-1"},{"id":"order-2"}]`))
	if err != nil {
		log.Fatal(err)
	}
	var last client.Job
	for job, err := range c.Watch(ctx, accepted.ID) {
		if err != nil {
			log.Fatal(err)
		}
		last = job
	}
	fmt.Println(last.RecordCount, "records:", last.Status)
	// Output: 2 records: SUCCEEDED
}

// The same key stands for the same job, however often it is sent.
func ExampleClient_Submit() {
	server, stop := startServer(false)
	defer stop()

	c, err := client.New(client.WithBaseURL(server), client.WithCredentials(user, password))
	if err != nil {
		log.Fatal(err)
	}
	batch := []byte(`[{"id":"order-1"}]`)
	first, err := c.Submit(context.Background(), "orders-2026-11-29", batch)
	if err != nil {
		log.Fatal(err)
	}
	second, err := c.Submit(context.Background(), "orders-2026-11-29", batch)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(first.ID == second.ID, second.Replayed)
	// Output: true true
}

// A cancelled job is replayed with the same bytes, and the lineage tells of both.
func ExampleClient_Replay() {
	server, stop := startServer(false)
	defer stop()

	c, err := client.New(client.WithBaseURL(server), client.WithCredentials(user, password))
	if err != nil {
		log.Fatal(err)
	}
	ctx, batch := context.Background(), []byte(`[{"id":"order-1"}]`)
	source, err := c.Submit(ctx, client.NewKey(), batch)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.Cancel(ctx, source.ID, client.NewKey()); err != nil {
		log.Fatal(err)
	}
	replay, err := c.Replay(ctx, source.ID, client.NewKey(), batch)
	if err != nil {
		log.Fatal(err)
	}
	lineage, err := c.Lineage(ctx, replay.ID)
	if err != nil {
		log.Fatal(err)
	}
	for _, job := range lineage.Jobs {
		fmt.Println("generation", job.Generation, job.Status)
	}
	// Output:
	// generation 0 CANCELLED
	// generation 1 PENDING
}

// The list asks for further pages as the loop gets there.
func ExampleClient_List() {
	server, stop := startServer(false)
	defer stop()

	c, err := client.New(client.WithBaseURL(server), client.WithCredentials(user, password))
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for range 3 {
		if _, err := c.Submit(ctx, client.NewKey(), []byte(`[]`)); err != nil {
			log.Fatal(err)
		}
	}
	waiting := client.Filter{Statuses: []client.Status{jobtype.StatusPending}, PageSize: 2}
	for job, err := range c.List(ctx, waiting) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(job.Status)
	}
	// Output:
	// PENDING
	// PENDING
	// PENDING
}

// A refusal carries a code to switch on.
func ExampleProblem() {
	server, stop := startServer(false)
	defer stop()

	c, err := client.New(client.WithBaseURL(server), client.WithCredentials(user, password))
	if err != nil {
		log.Fatal(err)
	}
	_, err = c.Submit(context.Background(), client.NewKey(), []byte(`[{"name":"no id"}]`))
	var problem *client.Problem
	if errors.As(err, &problem) && problem.Code == jobtype.CodeInvalidRecord {
		fmt.Println(problem.Status, problem.Title)
	}
	// Output: 422 Invalid record
}
