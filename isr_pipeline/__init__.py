"""Tell, every morning, what a Kafka replication setting costs and whether it got worse."""

from isr_pipeline.base.compiling import use_kernel_cache

use_kernel_cache()
