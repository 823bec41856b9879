package doctor

import "fmt"

// sizeText is a size for people.
func sizeText(bytes uint64) string {
	const units = "KMGTPE"
	if bytes < 1<<10 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	value, unit := float64(bytes)/(1<<10), 0
	for value >= 1<<10 {
		value /= 1 << 10
		unit++
	}
	if value < 10 {
		return fmt.Sprintf("%.1f %ciB", value, units[unit])
	}
	return fmt.Sprintf("%.0f %ciB", value, units[unit])
}
