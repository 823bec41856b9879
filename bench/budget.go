package main

import "fmt"

// budget is a bound on one row of Airlock's, absolute or as a multiple of
// what another contestant did in the same rounds.
type budget struct {
	limit   float64
	atLeast bool   // else at most
	times   string // contestant the limit is a multiple of; "": absolute
}

func atMost(limit float64) *budget { return &budget{limit: limit} }

func atMostTimes(limit float64, who string) *budget { return &budget{limit: limit, times: who} }

func atLeastTimes(limit float64, who string) *budget {
	return &budget{limit: limit, atLeast: true, times: who}
}

// text is the budget as the table shows it. A nil budget has none.
func (b *budget) text(unit string) string {
	if b == nil {
		return ""
	}
	sign, of := "≤", unit
	if b.atLeast {
		sign = "≥"
	}
	if b.times != "" {
		of = "× " + b.times
	}
	return fmt.Sprintf("%s %g %s", sign, b.limit, of)
}

// result is the budget as it is reported, before it is judged.
func (b *budget) result(unit string) *budgetResult {
	if b == nil {
		return nil
	}
	return &budgetResult{Text: b.text(unit), Limit: b.limit, AtLeast: b.atLeast, Times: b.times}
}

// judge tells whether the budget is met. It can't when there is none, or not
// enough was measured; then ok is false.
func (b *budget) judge(medians, ratios map[string]float64) (met, ok bool) {
	if b == nil {
		return false, false
	}
	value, ok := medians[airlockName]
	if b.times != "" {
		value, ok = ratios[ratioKey(airlockName, b.times)]
	}
	if b.atLeast {
		return value >= b.limit, ok
	}
	return value <= b.limit, ok
}
