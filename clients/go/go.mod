module candor/driver

go 1.19
