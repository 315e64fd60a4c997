package demo

import "time"

// monthsBack is how far the demo goes back.
const monthsBack = 24

// Clock is the store's clock while the demo is made. It stands still until it is set.
type Clock struct{ at time.Time }

// NewClock is a clock that stands at a time.
func NewClock(at time.Time) *Clock { return &Clock{at: at} }

// Now is the time of the clock.
func (c *Clock) Now() time.Time { return c.at }

// season is the weight of each month: many people come at the end of the year, few in summer.
var season = [...]float64{time.January: 8, 6, 7, 9, 8, 6, 4, 5, 8, 10, 12, 14}

// arrivals are the creation times of n contacts, oldest first: two fifths of them were entered in the first weeks, and those who came
// later become more over time, and follow the seasons.
func arrivals(now time.Time, n int) []time.Time {
	const day = 24 * time.Hour
	const moving = 45 // days
	start := now.AddDate(0, -monthsBack, 0)
	days, known := int(now.Sub(start)/day), n*2/5
	times := make([]time.Time, 0, n)
	for i := range known {
		times = append(times, start.Add(time.Duration(i)*moving*day/time.Duration(known)))
	}
	weight := func(d int) float64 {
		return season[start.AddDate(0, 0, d).Month()] * (1 + float64(d)/float64(days))
	}
	total := 0.0
	for d := moving; d < days; d++ {
		total += weight(d)
	}
	passed := 0.0
	for d := moving; d < days; d++ {
		for w := weight(d); len(times) < n; {
			part := ((float64(len(times)-known)+0.5)/float64(n-known)*total - passed) / w
			if part >= 1 {
				break
			}
			times = append(times, start.Add(time.Duration(d)*day+time.Duration(part*float64(day))))
		}
		passed += weight(d)
	}
	return times
}
