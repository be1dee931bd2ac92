// A driver for Go's net/http: driver --client net-http|null. The protocol is that of docs/drivers.md.
//
// Callers are goroutines. MaxConnsPerHost is the pool: a caller waits for a connection, within the
// request's own timeout. net/http silently repeats a request if a kept connection was lost
// before its response began; the server's count shows that.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"net/http"
	"os"
	"runtime"
	"sort"
	"sync"
	"syscall"
	"time"
)

type cell struct {
	URL             *string `json:"url"`
	Pool            int     `json:"pool"`
	Concurrency     int     `json:"concurrency"`
	WarmUpMs        int64   `json:"warm_up_ms"`
	DurationMs      int64   `json:"duration_ms"`
	TimeoutMs       int64   `json:"timeout_ms"`
	ExpectStatus    int     `json:"expect_status"`
	ExpectBodyBytes *int64  `json:"expect_body_bytes"`
}

// A client's function: makes one request, and returns the status and the length of the body.
type request func() (int, int64, error)

func main() {
	if len(os.Args) != 3 || os.Args[1] != "--client" || (os.Args[2] != "net-http" && os.Args[2] != "null") {
		fmt.Fprintln(os.Stderr, "candor driver: usage: driver --client net-http|null")
		os.Exit(2)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		text, err := json.Marshal(answer(lines.Bytes(), os.Args[2]))
		if err != nil {
			text = []byte(`{"error":"no JSON of the answer"}`)
		}
		fmt.Println(string(text))
	}
}

func answer(text []byte, client string) any {
	var line struct {
		Do string `json:"do"`
	}
	if err := json.Unmarshal(text, &line); err != nil {
		return failed("this is no JSON of a line: " + err.Error())
	}
	switch line.Do {
	case "describe":
		return map[string]string{"driver": "candor.driver/1", "client": client, "version": runtime.Version(),
			"runtime": runtime.Version()}
	case "run":
		c := cell{TimeoutMs: 30000, ExpectStatus: 200}
		if err := json.Unmarshal(text, &c); err != nil {
			return failed(err.Error())
		}
		if err := c.check(); err != nil {
			return failed(err.Error())
		}
		return run(c, client)
	}
	return failed(`a line needs "do": "describe" or "run"`)
}

func (c cell) check() error {
	switch {
	case c.URL == nil:
		return errors.New(`"url" is needed`)
	case c.Pool < 1:
		return errors.New(`"pool" must be a whole number, at least 1`)
	case c.Concurrency < 1:
		return errors.New(`"concurrency" must be a whole number, at least 1`)
	case c.WarmUpMs < 0:
		return errors.New(`"warm_up_ms" must be a whole number, at least 0`)
	case c.DurationMs < 1:
		return errors.New(`"duration_ms" must be a whole number, at least 1`)
	case c.TimeoutMs < 1:
		return errors.New(`"timeout_ms" must be a whole number, at least 1`)
	}
	return nil
}

func failed(sentence string) any { return map[string]string{"error": sentence} }

// Counts of requests that ended in the window, or outside of it.
type counts struct {
	Ok     int64            `json:"ok"`
	Errors map[string]int64 `json:"errors"`
}

// The counts of one caller.
type books struct {
	inside, outside counts
	examples        map[string]string
	latency         histogram
}

func run(c cell, client string) any {
	do, stop := start(c, client)
	defer stop()
	begin := time.Now().Add(time.Duration(c.WarmUpMs) * time.Millisecond)
	end := begin.Add(time.Duration(c.DurationMs) * time.Millisecond)
	all := make([]books, c.Concurrency)
	var callers sync.WaitGroup
	for i := range all {
		callers.Add(1)
		go func(b *books) {
			defer callers.Done()
			b.call(c, do, begin, end)
		}(&all[i])
	}
	callers.Wait()
	sum := newBooks()
	for i := range all {
		sum.merge(&all[i])
	}
	return map[string]any{"pool": c.Pool, "concurrency": c.Concurrency, "window_ns": c.DurationMs * 1e6,
		"ok": sum.inside.Ok, "errors": sum.inside.Errors, "examples": sum.examples, "outside": sum.outside,
		"latency_ns": sum.latency.json()}
}

func start(c cell, client string) (request, func()) {
	if client == "null" {
		length := int64(0)
		if c.ExpectBodyBytes != nil {
			length = *c.ExpectBodyBytes
		}
		return func() (int, int64, error) { return c.ExpectStatus, length, nil }, func() {}
	}
	transport := &http.Transport{MaxConnsPerHost: c.Pool, MaxIdleConnsPerHost: c.Pool, MaxIdleConns: c.Pool,
		DisableCompression: true}
	library := &http.Client{Transport: transport, Timeout: time.Duration(c.TimeoutMs) * time.Millisecond,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	do := func() (int, int64, error) {
		response, err := library.Get(*c.URL)
		if err != nil {
			return 0, 0, err
		}
		defer response.Body.Close()
		length, err := io.Copy(io.Discard, response.Body)
		return response.StatusCode, length, err
	}
	return do, transport.CloseIdleConnections
}

func (b *books) call(c cell, do request, begin, end time.Time) {
	*b = newBooks()
	for {
		sent := time.Now()
		status, length, err := do()
		done := time.Now()
		kind, example := judge(c, status, length, err)
		inWindow := !done.Before(begin) && done.Before(end)
		side := &b.outside
		if inWindow {
			side = &b.inside
		}
		if kind != "" {
			side.Errors[kind]++
			if b.examples[kind] == "" {
				b.examples[kind] = example
			}
		} else {
			side.Ok++
			if inWindow {
				b.latency.record(uint64(done.Sub(sent)))
			}
		}
		if !done.Before(end) {
			return
		}
	}
}

func judge(c cell, status int, length int64, err error) (kind, example string) {
	switch {
	case err != nil:
		return kindOf(err), err.Error()
	case status != c.ExpectStatus:
		return "status", fmt.Sprint(status)
	case c.ExpectBodyBytes != nil && length != *c.ExpectBodyBytes:
		return "body", fmt.Sprint(length, " bytes")
	}
	return "", ""
}

func kindOf(err error) string {
	var timed interface{ Timeout() bool }
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timed) && timed.Timeout():
		return "timeout"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE):
		return "closed"
	}
	return "other"
}

func newBooks() books {
	return books{inside: counts{Errors: map[string]int64{}}, outside: counts{Errors: map[string]int64{}},
		examples: map[string]string{}, latency: histogram{counts: map[uint64]uint64{}}}
}

func (b *books) merge(other *books) {
	for _, side := range [][2]*counts{{&b.inside, &other.inside}, {&b.outside, &other.outside}} {
		side[0].Ok += side[1].Ok
		for kind, count := range side[1].Errors {
			side[0].Errors[kind] += count
		}
	}
	for kind, example := range other.examples {
		b.examples[kind] = example
	}
	b.latency.merge(&other.latency)
}

// Durations, bucketed by their eleven leading bits; extremes and the sum are exact.
type histogram struct {
	counts        map[uint64]uint64
	min, max, sum uint64
}

func (h *histogram) record(ns uint64) {
	shift := 0
	if length := bits.Len64(ns); length > 11 {
		shift = length - 11
	}
	if len(h.counts) == 0 || ns < h.min {
		h.min = ns
	}
	if ns > h.max {
		h.max = ns
	}
	h.counts[ns>>shift<<shift]++
	h.sum += ns
}

func (h *histogram) merge(other *histogram) {
	if len(other.counts) == 0 {
		return
	}
	if len(h.counts) == 0 || other.min < h.min {
		h.min = other.min
	}
	if other.max > h.max {
		h.max = other.max
	}
	for bucket, count := range other.counts {
		h.counts[bucket] += count
	}
	h.sum += other.sum
}

func (h *histogram) json() any {
	pairs := make([][2]uint64, 0, len(h.counts))
	for bucket, count := range h.counts {
		pairs = append(pairs, [2]uint64{bucket, count})
	}
	sort.Slice(pairs, func(i, j int) bool { return pairs[i][0] < pairs[j][0] })
	if len(pairs) == 0 {
		return map[string]any{"min": nil, "max": nil, "sum": 0, "counts": pairs}
	}
	return map[string]any{"min": h.min, "max": h.max, "sum": h.sum, "counts": pairs}
}
