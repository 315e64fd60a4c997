package web

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestMetricsOfTheProcessAreTrue(t *testing.T) {
	values := make(map[string]float64)
	for line := range strings.Lines(scrape(t, NewMetrics("x"))) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), " "); found {
			values[name], _ = strconv.ParseFloat(value, 64)
		}
	}
	for name, limits := range map[string][2]float64{
		"process_start_time_seconds":    {float64(time.Now().Add(-time.Hour).Unix()), float64(time.Now().Unix() + 1)},
		"process_resident_memory_bytes": {1 << 20, 1 << 34},
		"process_open_fds":              {3, values["process_max_fds"]},
		"process_cpu_seconds_total":     {0, 3600},
		"go_memstats_mallocs_total":     {1000, 1 << 40},
		"go_goroutines":                 {1, 10000},
		"go_threads":                    {1, 10000},
	} {
		if value := values[name]; value < limits[0] || value > limits[1] {
			t.Errorf("%s is %g, not between %g and %g", name, value, limits[0], limits[1])
		}
	}
}
