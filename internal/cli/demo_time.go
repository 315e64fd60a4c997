package cli

import "time"

// demoMonths is how far the demo goes back.
const demoMonths = 24

// demoClock is the store's clock while the demo is made. It stands still until it is set.
type demoClock struct{ at time.Time }

func (c *demoClock) now() time.Time { return c.at }

// demoSeason is the weight of each month: many people come at the end of the year, few in summer.
var demoSeason = [...]float64{time.January: 8, 6, 7, 9, 8, 6, 4, 5, 8, 10, 12, 14}

// demoTimes are the creation times of n contacts, oldest first: two fifths of them were entered in the first weeks, and those who came
// later become more over time, and follow the seasons.
func demoTimes(now time.Time, n int) []time.Time {
	const day = 24 * time.Hour
	const moving = 45 // days
	start := now.AddDate(0, -demoMonths, 0)
	days, known := int(now.Sub(start)/day), n*2/5
	times := make([]time.Time, 0, n)
	for i := range known {
		times = append(times, start.Add(time.Duration(i)*moving*day/time.Duration(known)))
	}
	weight := func(d int) float64 {
		return demoSeason[start.AddDate(0, 0, d).Month()] * (1 + float64(d)/float64(days))
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
