"""The RDMA lab of rdmactl: virtual nodes, real kernels, faults to order."""
