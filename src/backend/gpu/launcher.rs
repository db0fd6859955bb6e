//! All GPU work goes through the launcher: kernel, bindings, parameters, grid. It compiles a variant when it is first
//! used, and hands work to the device in submissions of bounded length.

use super::device::{Device, PARAMETER_BYTES};
use super::kernels::{self, Variant};
use crate::backend::Pending;
use crate::error::Result;
use std::collections::HashMap;
use std::sync::mpsc;
use wgpu::{BufferUsages, CommandEncoder, ComputePass};

/// A range of a buffer.
#[derive(Clone, Debug)]
pub struct View {
    /// The buffer.
    pub buffer: wgpu::Buffer,
    /// The first byte, a multiple of [`ALIGNMENT`].
    pub offset: u64,
    /// How many bytes, a multiple of 4.
    pub size: u64,
}

/// The alignment of bindings that every adapter takes.
pub const ALIGNMENT: u64 = 256;

/// Groups along the first dimension of a grid; more are folded into the second.
const MOST_GROUPS: u32 = 65_535;

/// Estimated work after which a submission goes out, in multiplications: well under a second on two CPU cores.
pub const SUBMISSION_WORK: u64 = 1 << 31;

/// Bytes that may wait in staging memory.
const STAGED_BYTES: u64 = 64 << 20;

impl View {
    /// A part of the range, from byte `offset` of it.
    pub fn part(&self, offset: u64, size: u64) -> View {
        debug_assert!(offset + size <= self.size && offset.is_multiple_of(ALIGNMENT));
        View { buffer: self.buffer.clone(), offset: self.offset + offset, size }
    }
}

struct Pipeline {
    pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
}

/// Compiles kernels and records work.
pub struct Launcher {
    device: Device,
    pipelines: HashMap<Variant, Pipeline>,
    pass: Option<ComputePass<'static>>,
    encoder: Option<CommandEncoder>,
    work: u64,
    largest_submission: u64,
    launches: u64,
    staged: u64,
}

impl Launcher {
    /// A launcher on an open device.
    pub fn new(device: Device) -> Launcher {
        Launcher {
            device,
            pipelines: HashMap::new(),
            pass: None,
            encoder: None,
            work: 0,
            largest_submission: 0,
            launches: 0,
            staged: 0,
        }
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Dispatches so far.
    pub fn launches(&self) -> u64 {
        self.launches
    }

    /// The estimated work of the largest submission so far. It exceeds [`SUBMISSION_WORK`] only where one dispatch does.
    pub fn largest_submission(&self) -> u64 {
        self.largest_submission
    }

    /// A buffer of zeros for kernels to work on, and to copy to and from.
    ///
    /// # Errors
    /// The device failed.
    pub fn buffer(&self, label: &str, bytes: u64) -> Result<View> {
        let size = bytes.next_multiple_of(4).max(4);
        let buffer = self.device.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size,
            usage: BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        self.device.check()?;
        Ok(View { buffer, offset: 0, size })
    }

    /// A buffer with this content.
    ///
    /// # Errors
    /// The device failed.
    pub fn upload(&mut self, label: &str, bytes: &[u8]) -> Result<View> {
        let view = self.buffer(label, bytes.len() as u64)?;
        self.write(&view, bytes);
        Ok(view)
    }

    /// Writes to the start of a range, before all work that is recorded after this call.
    pub fn write(&mut self, view: &View, bytes: &[u8]) {
        // A queue's writes come before the next submission, so what is recorded already must be submitted first.
        self.submit();
        self.staged += bytes.len() as u64;
        let whole = bytes.len() / 4 * 4;
        self.device.queue.write_buffer(&view.buffer, view.offset, &bytes[..whole]);
        if whole < bytes.len() {
            let mut last = [0; 4];
            last[..bytes.len() - whole].copy_from_slice(&bytes[whole..]);
            self.device.queue.write_buffer(&view.buffer, view.offset + whole as u64, &last);
        }
    }

    /// Records a dispatch of `grid[0]` by `grid[1]` workgroups. `work` is its estimated multiplications.
    ///
    /// # Errors
    /// The kernel could not be compiled, or the device failed.
    pub fn launch(
        &mut self,
        variant: &Variant,
        bindings: &[&View],
        parameters: &[u32],
        grid: [u32; 2],
        work: u64,
    ) -> Result<()> {
        if grid.contains(&0) {
            return Ok(());
        }
        if self.work > 0 && self.work + work > SUBMISSION_WORK {
            self.submit();
        }
        self.work += work;
        self.launches += 1;
        self.compile(variant)?;
        let pipeline = &self.pipelines[variant];
        let kernel = kernels::kernel(variant.kernel);
        debug_assert_eq!(bindings.len(), kernel.bindings.len(), "{}: bindings", kernel.name);
        debug_assert_eq!(parameters.len(), kernel.parameters.len(), "{}: parameters", kernel.name);
        let entries: Vec<wgpu::BindGroupEntry> = (0..)
            .zip(bindings)
            .map(|(binding, view)| wgpu::BindGroupEntry {
                binding,
                resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer: &view.buffer,
                    offset: view.offset,
                    size: std::num::NonZero::new(view.size),
                }),
            })
            .collect();
        let group = self.device.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(kernel.name),
            layout: &pipeline.layout,
            entries: &entries,
        });
        let pass = match &mut self.pass {
            Some(pass) => pass,
            None => {
                let encoder = self.encoder.get_or_insert_with(|| new_encoder(&self.device));
                let pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                self.pass.insert(pass.forget_lifetime())
            }
        };
        pass.set_pipeline(&pipeline.pipeline);
        pass.set_bind_group(0, &group, &[]);
        if !parameters.is_empty() {
            pass.set_immediates(0, bytemuck::cast_slice(parameters));
        }
        let rows = grid[0].div_ceil(MOST_GROUPS);
        pass.dispatch_workgroups(grid[0].div_ceil(rows), rows, grid[1]);
        Ok(())
    }

    /// Records a copy of `size` bytes between different buffers.
    pub fn copy(&mut self, from: &View, from_offset: u64, to: &View, to_offset: u64, size: u64) {
        if size == 0 {
            return;
        }
        self.pass = None;
        let encoder = self.encoder.get_or_insert_with(|| new_encoder(&self.device));
        encoder.copy_buffer_to_buffer(
            &from.buffer,
            from.offset + from_offset,
            &to.buffer,
            to.offset + to_offset,
            Some(size),
        );
    }

    /// Records a copy of a range into a buffer of its own.
    ///
    /// # Errors
    /// The device failed.
    pub fn duplicate(&mut self, view: &View) -> Result<View> {
        let copy = self.buffer("copy", view.size)?;
        self.copy(view, 0, &copy, 0, view.size);
        Ok(copy)
    }

    /// Hands what is recorded to the device.
    pub fn submit(&mut self) {
        self.pass = None;
        self.largest_submission = self.largest_submission.max(self.work);
        self.work = 0;
        if let Some(encoder) = self.encoder.take() {
            self.device.queue.submit([encoder.finish()]);
        }
    }

    /// Submits, and reads a range once the device has come to it.
    ///
    /// # Errors
    /// The device failed.
    pub fn read(&mut self, view: &View) -> Result<Pending<Vec<u8>>> {
        let device = self.device.clone();
        let staging = device.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("read back"),
            size: view.size,
            usage: BufferUsages::MAP_READ | BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let target = View { buffer: staging.clone(), offset: 0, size: view.size };
        self.copy(view, 0, &target, 0, view.size);
        self.submit();
        device.check()?;
        let (send, receive) = mpsc::channel();
        staging.map_async(wgpu::MapMode::Read, .., move |result| {
            // The receiver is gone where nobody waits for the bytes.
            let _ = send.send(result);
        });
        Ok(Pending::new(move || {
            let failed = |text: String| match device.check() {
                Err(error) => error,
                Ok(()) => device.failure(text),
            };
            device.wait()?;
            match receive.try_recv() {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return Err(failed(error.to_string())),
                Err(error) => return Err(failed(error.to_string())),
            }
            let bytes = staging.get_mapped_range(..).map_err(|error| failed(error.to_string()))?.to_vec();
            device.check()?;
            Ok(bytes)
        }))
    }

    /// Waits until the device has done all that was recorded.
    ///
    /// # Errors
    /// The device failed.
    pub fn finish(&mut self) -> Result<()> {
        self.submit();
        self.staged = 0;
        self.device.wait()
    }

    /// Waits for the device where much was written and nothing submitted: what is written waits in staging memory
    /// until the device has taken it.
    ///
    /// # Errors
    /// The device failed.
    pub fn settle(&mut self) -> Result<()> {
        if self.staged < STAGED_BYTES {
            return self.device.check();
        }
        self.device.queue.submit([]);
        self.finish()
    }

    fn compile(&mut self, variant: &Variant) -> Result<()> {
        if self.pipelines.contains_key(variant) {
            return Ok(());
        }
        let kernel = kernels::kernel(variant.kernel);
        let device = &self.device.device;
        let entries: Vec<wgpu::BindGroupLayoutEntry> = (0..)
            .zip(kernel.bindings)
            .map(|(binding, declared)| wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Storage { read_only: !declared.written },
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: None,
            })
            .collect();
        let label = Some(kernel.name);
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label, entries: &entries });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: if kernel.parameters.is_empty() { 0 } else { PARAMETER_BYTES },
        });
        let source = wgpu::ShaderSource::Wgsl(kernels::wgsl(variant).into());
        let descriptor = wgpu::ShaderModuleDescriptor { label, source };
        let module = if std::env::var("CHECKED").is_ok() {
            device.create_shader_module(descriptor)
        } else {
            // SAFETY: the kernels are this crate's own, their indices are bounded by their parameters, and every
            // variant runs with all checks on in the tests.
            unsafe { device.create_shader_module_trusted(descriptor, wgpu::ShaderRuntimeChecks::unchecked()) }
        };
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label,
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions {
                zero_initialize_workgroup_memory: false,
                ..Default::default()
            },
            cache: None,
        });
        self.device.check()?;
        self.pipelines.insert(variant.clone(), Pipeline { pipeline, layout });
        Ok(())
    }
}

fn new_encoder(device: &Device) -> CommandEncoder {
    device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("redlite") })
}
