// The source that sample.ptx pretends to come from.
__device__ void load(unsigned address) {
  tmem_load(address);
}

__global__ void k() {
  load(0);
}
