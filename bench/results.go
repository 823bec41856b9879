package main

import (
	"slices"
	"strings"
)

// rowResult is one row of the table with everything found for it. This and what
// it holds is a part of the report: report.schema.json describes it.
type rowResult struct {
	Measure string `json:"measure"`
	Row     string `json:"row"`
	Title   string `json:"title"`
	Unit    string `json:"unit"`
	Better  string `json:"better"` // less or more

	// Figures holds what was measured, by contestant.
	Figures map[string]*figures `json:"figures"`
	// Missing says why a contestant has none, or has fewer rounds than others.
	Missing map[string]string `json:"missing,omitempty"`
	// Ratios holds the median over the rounds of "a/b", by that name.
	Ratios map[string]float64 `json:"ratios"`
	Budget *budgetResult      `json:"budget,omitempty"`

	budget *budget
	floor  bool // the bare loop can have this row
	steady bool // see row.unsteady
}

// figures are one contestant's in one row.
type figures struct {
	Rounds []float64 `json:"rounds"` // or, where a measure takes several turns in a round, turns
	Median float64   `json:"median"`
	// Spread is the distance between the first and the third quartile.
	Spread float64 `json:"spread"`
	// RatiosToBare has one for each turn that both have and in which the figure
	// of bare is more than zero.
	RatiosToBare []float64 `json:"ratiosToBare,omitempty"`
}

// budgetResult is a budget and how Airlock did.
type budgetResult struct {
	Text    string  `json:"text"`
	Limit   float64 `json:"limit"`
	AtLeast bool    `json:"atLeast"`         // else at most
	Times   string  `json:"times,omitempty"` // whose figure the limit multiplies; else it is absolute
	Met     *bool   `json:"met,omitempty"`   // absent when too little was measured to tell
}

// verdict is what the table shows.
func (b *budgetResult) verdict() string {
	switch {
	case b == nil || b.Met == nil:
		return ""
	case *b.Met:
		return "ok"
	default:
		return "MISS"
	}
}

// results are the rows of the measures that were selected, in their order.
type results struct {
	contestants []string
	rounds      int     // that were begun
	othersShare float64 // see report
	rows        []*rowResult
}

// ratioPairs are the comparisons shown, in this order.
var ratioPairs = [][2]string{{peerName, bareName}, {airlockName, bareName}, {airlockName, peerName}}

func ratioKey(a, b string) string { return a + "/" + b }

func newResults(selected []measure, targets []*target) *results {
	res := &results{contestants: []string{bareName}}
	for _, t := range targets {
		res.contestants = append(res.contestants, t.name)
	}
	for _, m := range selected {
		for _, r := range m.rows {
			res.rows = append(res.rows, &rowResult{
				Measure: m.name, Row: r.key, Title: r.title, Unit: r.unit, Better: better(r.unit),
				Figures: map[string]*figures{}, Missing: map[string]string{}, Ratios: map[string]float64{},
				Budget: r.budget.result(r.unit), budget: r.budget, floor: m.bare != nil && !r.noFloor, steady: !r.unsteady,
			})
		}
	}
	return res
}

// better tells whether less or more of a unit is better. More is, of rates.
func better(unit string) string {
	if strings.HasSuffix(unit, "/s") {
		return "more"
	}
	return "less"
}

// add records one round of a measure.
func (res *results) add(m measure, who string, s sample) {
	for _, r := range res.rows {
		if v, ok := s[r.Row]; ok && r.Measure == m.name {
			if r.Figures[who] == nil {
				r.Figures[who] = &figures{}
			}
			r.Figures[who].Rounds = append(r.Figures[who].Rounds, v)
		}
	}
}

// miss records why a contestant is left out of a measure from now on.
func (res *results) miss(m measure, who, why string) {
	for _, r := range res.rows {
		if r.Measure == m.name {
			r.Missing[who] = why
		}
	}
}

// finish computes medians, ratios and verdicts.
func (res *results) finish() {
	for _, r := range res.rows {
		medians := map[string]float64{}
		for who, f := range r.Figures {
			f.Median = median(f.Rounds)
			f.Spread = percentile(f.Rounds, 0.75) - percentile(f.Rounds, 0.25)
			if who != bareName {
				f.RatiosToBare = ratios(f.Rounds, r.rounds(bareName))
			}
			medians[who] = f.Median
		}
		for _, pair := range ratioPairs {
			if all := ratios(r.rounds(pair[0]), r.rounds(pair[1])); len(all) > 0 {
				r.Ratios[ratioKey(pair[0], pair[1])] = median(all)
			}
		}
		if met, ok := r.budget.judge(medians, r.Ratios); ok {
			r.Budget.Met = &met
		}
	}
}

func (r *rowResult) rounds(who string) []float64 {
	if f := r.Figures[who]; f != nil {
		return f.Rounds
	}
	return nil
}

// find returns the row with these names, or nil.
func (res *results) find(measure, row string) *rowResult {
	for _, r := range res.rows {
		if r.Measure == measure && r.Row == row {
			return r
		}
	}
	return nil
}

// toBare is Airlock's ratio to bare, or 0 when there is none.
func (r *rowResult) toBare() float64 {
	if r == nil {
		return 0
	}
	return r.Ratios[ratioKey(airlockName, bareName)]
}

// compared tells whether some row of a measure has a ratio to bare.
func (res *results) compared(m measure) bool {
	return slices.ContainsFunc(res.rows, func(r *rowResult) bool { return r.Measure == m.name && r.toBare() > 0 })
}

// takesPart tells whether a contestant was there to be measured.
func (res *results) takesPart(who string) bool { return slices.Contains(res.contestants, who) }

// misses counts the budgets that were missed.
func (res *results) misses() int {
	n := 0
	for _, r := range res.rows {
		if r.Budget.verdict() == "MISS" {
			n++
		}
	}
	return n
}
