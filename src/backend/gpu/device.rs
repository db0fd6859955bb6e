//! Adapters, and the device opened on one of them.

use super::native;
use crate::error::{Error, Result};
use crate::memory::{self, Machine, smaller};
use std::sync::{Arc, Mutex, PoisonError};
use wgpu::{Adapter, DeviceType, Features, Limits};

/// What an adapter is and offers.
#[derive(Clone, Debug)]
pub struct AdapterFacts {
    /// Its name.
    pub name: String,
    /// The interface it is reached through.
    pub interface: String,
    /// The driver and its version.
    pub driver: String,
    /// What kind of device it is.
    pub kind: DeviceType,
    /// All features it has.
    pub features: Features,
    /// Its limits.
    pub limits: Limits,
    /// Bytes of device memory that can be had, where the interface says.
    pub memory: Option<u64>,
}

impl AdapterFacts {
    fn of(adapter: &Adapter) -> AdapterFacts {
        let info = adapter.get_info();
        AdapterFacts {
            name: info.name,
            interface: info.backend.to_string(),
            driver: format!("{} {}", info.driver, info.driver_info).trim().to_owned(),
            kind: info.device_type,
            features: adapter.features(),
            limits: adapter.limits(),
            memory: native::device_memory(adapter),
        }
    }

    /// The memory that a model on this adapter takes from.
    pub fn machine(&self) -> Machine {
        match (self.kind, self.memory) {
            (DeviceType::Cpu, _) => Machine::Host { available: memory::available() },
            (DeviceType::IntegratedGpu, Some(working_set)) if cfg!(target_vendor = "apple") => {
                Machine::Unified { working_set }
            }
            (DeviceType::IntegratedGpu, memory) => Machine::Host { available: smaller(memory, memory::available()) },
            (_, memory) => Machine::Device { memory },
        }
    }

    /// Whether it is a program that runs on the CPU.
    pub fn is_software(&self) -> bool {
        self.kind == DeviceType::Cpu
    }
}

/// All adapters of this machine, as wgpu finds them.
pub fn adapters() -> Vec<AdapterFacts> {
    enumerate().iter().map(AdapterFacts::of).collect()
}

fn enumerate() -> Vec<Adapter> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all()))
}

/// The index of the adapter to use: the first whose name or interface contains `wanted`, in any case; without a
/// wish the best hardware, discrete before integrated before others. A software adapter is used only on request.
pub fn choose(adapters: &[AdapterFacts], wanted: Option<&str>) -> Option<usize> {
    let rank = |facts: &AdapterFacts| match facts.kind {
        DeviceType::DiscreteGpu => Some(0),
        DeviceType::IntegratedGpu => Some(1),
        DeviceType::VirtualGpu => Some(2),
        DeviceType::Other => Some(3),
        DeviceType::Cpu => None,
    };
    match wanted {
        Some(wanted) => {
            let wanted = wanted.to_lowercase();
            adapters.iter().position(|a| format!("{} {}", a.name, a.interface).to_lowercase().contains(&wanted))
        }
        None => {
            let ranked = adapters.iter().enumerate().filter_map(|(index, facts)| Some((rank(facts)?, index)));
            ranked.min().map(|(_, index)| index)
        }
    }
}

/// Features that are taken where the adapter has them. Each has a path that does without.
const WELCOME: Features =
    Features::SUBGROUP.union(Features::SHADER_F16).union(Features::TIMESTAMP_QUERY).union(Features::PIPELINE_CACHE);

/// Features without which no kernel runs: parameters travel as immediates.
const REQUIRED: Features = Features::IMMEDIATES;

/// Bytes of parameters that every adapter with immediates takes.
pub const PARAMETER_BYTES: u32 = 128;

/// An open device.
#[derive(Clone)]
pub struct Device {
    /// The device.
    pub device: wgpu::Device,
    /// Its one queue.
    pub queue: wgpu::Queue,
    /// The adapter it was opened on.
    pub adapter: AdapterFacts,
    failed: Arc<Mutex<Option<String>>>,
}

impl Device {
    /// Opens the adapter that [`choose`] chooses.
    ///
    /// # Errors
    /// There is no such adapter, or it lacks what every kernel needs.
    pub fn open(wanted: Option<&str>) -> Result<Device> {
        let adapters = enumerate();
        let facts: Vec<AdapterFacts> = adapters.iter().map(AdapterFacts::of).collect();
        let index = choose(&facts, wanted).ok_or_else(|| none_found(&facts, wanted))?;
        let (adapter, facts) = (&adapters[index], facts[index].clone());
        if !facts.features.contains(REQUIRED) || facts.limits.max_immediate_size < PARAMETER_BYTES {
            let name = &facts.name;
            return Err(Error::Backend(format!("the adapter `{name}` takes no {PARAMETER_BYTES} bytes of immediates")));
        }
        let request = adapter.request_device(&wgpu::DeviceDescriptor {
            label: Some("redlite"),
            required_features: (facts.features & WELCOME) | REQUIRED,
            required_limits: facts.limits.clone(),
            memory_hints: wgpu::MemoryHints::Performance,
            ..Default::default()
        });
        let (device, queue) = pollster::block_on(request)
            .map_err(|error| Error::Backend(format!("cannot open the adapter `{}`: {error}", facts.name)))?;
        let failure = Arc::new(Mutex::new(None));
        let note = |failure: &Arc<Mutex<Option<String>>>| {
            let failure = failure.clone();
            // The first failure is the cause; what comes after it follows from it.
            move |text: String| {
                failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(text);
            }
        };
        let (uncaptured, lost) = (note(&failure), note(&failure));
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| uncaptured(error.to_string())));
        device.set_device_lost_callback(move |reason, text| {
            if reason != wgpu::DeviceLostReason::Destroyed {
                lost(format!("the device was lost: {text}"));
            }
        });
        Ok(Device { device, queue, adapter: facts, failed: failure })
    }

    /// # Errors
    /// The device has failed at some time.
    pub fn check(&self) -> Result<()> {
        match &*self.failed.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(text) => Err(self.failure(text.clone())),
            None => Ok(()),
        }
    }

    /// Waits until the device has done all that was submitted.
    ///
    /// # Errors
    /// The device failed.
    pub fn wait(&self) -> Result<()> {
        let waited = self.device.poll(wgpu::PollType::wait_indefinitely());
        self.check()?;
        waited.map(|_| ()).map_err(|error| self.failure(error.to_string()))
    }

    /// The error that says how this device failed.
    pub fn failure(&self, failure: String) -> Error {
        Error::Device { adapter: self.adapter.name.clone(), failure }
    }
}

/// The error that says which adapters there are.
pub fn none_found(adapters: &[AdapterFacts], wanted: Option<&str>) -> Error {
    let names: Vec<String> = adapters.iter().map(|a| format!("`{}` ({})", a.name, a.interface)).collect();
    let there = if names.is_empty() { "there is none".into() } else { format!("there are {}", names.join(", ")) };
    Error::Backend(match wanted {
        Some(wanted) => format!("no GPU adapter matches `{wanted}`; {there}"),
        None if names.is_empty() => "no GPU adapter was found; install a driver, or use `--backend reference`".into(),
        None => format!("no hardware GPU was found; {there}: choose one with --adapter, or use `--backend reference`"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapter(name: &str, kind: DeviceType) -> AdapterFacts {
        AdapterFacts {
            name: name.into(),
            interface: "vulkan".into(),
            driver: String::new(),
            kind,
            features: Features::empty(),
            limits: Limits::default(),
            memory: None,
        }
    }

    #[test]
    fn the_best_hardware_is_chosen_and_software_only_on_request() {
        let software = adapter("llvmpipe", DeviceType::Cpu);
        let integrated = adapter("Integrated", DeviceType::IntegratedGpu);
        let discrete = adapter("Discrete", DeviceType::DiscreteGpu);
        assert_eq!(choose(&[software.clone(), integrated.clone(), discrete.clone()], None), Some(2));
        assert_eq!(choose(&[software.clone(), integrated], None), Some(1));
        assert_eq!(choose(std::slice::from_ref(&software), None), None);
        assert_eq!(choose(&[discrete, software.clone()], Some("LLVM")), Some(1));
        assert_eq!(choose(&[software], Some("radeon")), None);
    }
}
